// Server checks: no request is handled or answered twice, and each answer comes from a request that was handled (C18).

import type { HistoryEvent } from "../../../core/history/events.ts";
import { defaultCodec } from "../../../core/values/codec.ts";
import type { EndOfRun } from "../world/workload.ts";
import type { RequestData } from "./program.ts";
import { HANDLED } from "./requests.ts";

export async function checkServer(id: string, end: EndOfRun): Promise<void> {
  const server = end.instances.get(id);
  if (server === undefined) return end.report(`${id} does not exist`);
  const handled = (await end.client.get(id).kv.get<readonly string[]>(HANDLED)) ?? [];
  for (const key of repeated(handled)) end.report(`${id} handled request ${key} twice`);
  const answered = [...server.executions.values()].flatMap(answeredIn);
  for (const key of repeated(answered)) end.report(`${id} answered request ${key} twice`);
  const known = new Set(handled);
  for (const [asker, { executions }] of end.instances) {
    for (const key of [...executions.values()].flatMap((events) => receivedFrom(id, events))) {
      if (!known.has(key))
        end.report(`${asker} got an answer to ${key}, which ${id} never handled`);
    }
  }
}

function repeated(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

/** The ids of the requests that an execution answered. */
function answeredIn(events: readonly HistoryEvent[]): readonly string[] {
  const ids = new Map<number, string>();
  return events.flatMap((event) => {
    if (event.kind === "RequestReceived") ids.set(event.sequence, event.id);
    const isAnswer = event.kind === "RequestAnswered" || event.kind === "RequestRefused";
    return isAnswer ? [ids.get(event.received) ?? `${event.received}`] : [];
  });
}

/** The keys of the asks of a server that an execution got an answer to. */
function receivedFrom(server: string, events: readonly HistoryEvent[]): readonly string[] {
  const keys = new Map<number, string>();
  return events.flatMap((event) => {
    if (event.kind === "AskSent" && event.id === server) {
      const { key } = defaultCodec.decode(event.input) as RequestData; // written by `ask`
      keys.set(event.sequence, key);
    }
    // A cancel of the server fails a request that was not handled to its end.
    const isAnswer =
      event.kind === "AskCompleted" || (event.kind === "AskFailed" && event.outcome === "refused");
    return isAnswer ? (keys.get(event.scheduled) ?? []) : [];
  });
}
