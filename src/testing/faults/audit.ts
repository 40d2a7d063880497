// What is left in a store when everything is over: how each instance ended, and what is wrong with its history.

import type { Codec } from "../../core/codec.ts";
import type { HistoryEvent } from "../../core/history-events.ts";
import { decodeHistory } from "../../core/history-row.ts";
import { isTerminalStatus, type InstanceRecord } from "../../core/provider/instances.ts";
import type { Provider } from "../../core/provider/provider.ts";

/** What is found in a store at rest. */
export interface Audit {
  /** By id: status, and visible state. */
  readonly ends: Readonly<Record<string, unknown>>;
  /** In sentences; none: everything is sound. */
  readonly faults: readonly string[];
  /** Idempotency keys of activities that have an outcome, over all executions. */
  readonly recorded: readonly string[];
}

const INSTANCES_MAX = 1_000;

export async function auditStore(store: Provider, codec: Codec): Promise<Audit> {
  const ends: Record<string, unknown> = {};
  const faults: string[] = [];
  const recorded: string[] = [];
  const request = { filter: {}, order: "oldest", limit: INSTANCES_MAX, cursor: null } as const;
  for (const { id } of (await store.findInstances(request)).items) {
    const record = await store.readInstance(id);
    if (record === null) continue;
    ends[record.id] = await endOf(record, store, codec);
    if (isTerminalStatus(record.status)) {
      const left = await store.readTasks(record);
      if (left.length > 0) faults.push(`"${record.id}" has ended and left ${left.length} tasks`);
    }
    for (const { execution } of await store.readExecutions(record.key)) {
      const events = decodeHistory(await store.readHistory({ key: record.key, execution }));
      faults.push(...faultsOf(events).map((fault) => `"${record.id}" #${execution}: ${fault}`));
      recorded.push(...recordedIn(events, record, execution));
    }
  }
  return { ends, faults, recorded };
}

async function endOf(record: InstanceRecord, store: Provider, codec: Codec): Promise<unknown> {
  const { status, execution, output, customStatus, blocked } = record;
  const read = (text: string | null): unknown => (text === null ? null : codec.decode(text));
  const keyValues = await store.readKeyValues(record.id);
  return {
    status,
    execution,
    output: read(output),
    customStatus: read(customStatus),
    blocked,
    keyValues: keyValues.map(({ key, value }) => [key, codec.decode(value)]),
  };
}

/** Dense numbers, one start, one end, one outcome a call (I4, I6, I7). */
function faultsOf(events: readonly HistoryEvent[]): string[] {
  const found: string[] = [];
  const answered = new Set<number>();
  for (const [index, event] of events.entries()) {
    if (event.sequence !== index + 1) found.push(`event ${index + 1} is ${event.sequence}`);
    const isStart = event.kind === "OrchestrationStarted";
    if (isStart !== (index === 0)) found.push(`event ${event.sequence} is ${event.kind}`);
    if (!("scheduled" in event) || event.kind === "StepAttemptFailed") continue;
    if (answered.has(event.scheduled)) found.push(`${event.scheduled} has two outcomes`);
    answered.add(event.scheduled);
    if (event.scheduled >= event.sequence) found.push(`${event.sequence} answers what is to come`);
  }
  return found;
}

function recordedIn(
  events: readonly HistoryEvent[],
  { runId }: InstanceRecord,
  execution: number,
): string[] {
  return events.flatMap((event) =>
    event.kind === "ActivityCompleted" || event.kind === "ActivityFailed"
      ? [`${runId}:${execution}:${event.scheduled}`]
      : [],
  );
}
