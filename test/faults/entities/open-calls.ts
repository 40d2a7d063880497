// Open calls: finds asks without an outcome and requests without an answer in the histories of a store.

import type { Client, HistoryEvent } from "../../../src/index.ts";
import type { TestEnvironment } from "../../../src/testing/index.ts";

export type AuditedStore = Pick<TestEnvironment, "store"> & { readonly client: Client };

/** Descriptions of the open asks, of the open requests, and of requests that were answered more than once. */
export async function openCalls({ store, client }: AuditedStore): Promise<readonly string[]> {
  const found: string[] = [];
  const page = { filter: {}, order: "oldest", limit: 1_000, cursor: null } as const;
  for (const { id } of (await store.findInstances(page)).items) {
    const handle = client.get(id);
    const open = new Set<string>();
    const answered = new Set<string>();
    for (const { execution } of await handle.executions()) {
      const events = await handle.history({ execution });
      found.push(...openAsks(events).map((sequence) => `ask ${sequence} of "${id}" #${execution}`));
      const received = new Map<number, string>();
      for (const event of events) {
        if (event.kind === "RequestReceived") {
          received.set(event.sequence, event.id);
          open.add(event.id); // an open request moves to the next execution
        }
        if (event.kind !== "RequestAnswered" && event.kind !== "RequestRefused") continue;
        const request = received.get(event.received) ?? "";
        if (answered.has(request)) found.push(`"${id}" answered ${request} twice`);
        answered.add(request);
        open.delete(request);
      }
    }
    found.push(...[...open].map((request) => `request ${request} at "${id}"`));
  }
  return found;
}

function openAsks(events: readonly HistoryEvent[]): readonly number[] {
  const open = new Set<number>();
  for (const event of events) {
    if (event.kind === "AskSent") open.add(event.sequence);
    if (event.kind === "AskCompleted" || event.kind === "AskFailed") open.delete(event.scheduled);
    if (event.kind === "AskCancelled") open.delete(event.scheduled);
  }
  return [...open];
}
