// Store audit: after a test run, reads how each instance ended and checks its history.

import type { Codec } from "../../core/values/codec.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import { isTerminalStatus, type InstanceRecord } from "../../core/provider/instances.ts";
import type { Provider } from "../../core/provider/provider.ts";

/** The findings of an audit. */
export interface Audit {
  /** The status and the visible state of each instance, by id. */
  readonly ends: Readonly<Record<string, unknown>>;
  /** Descriptions of the faults; empty if the store is correct. */
  readonly faults: readonly string[];
  /** Idempotency keys of all activity calls with a recorded outcome, in all executions. */
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
      if (left.length > 0)
        faults.push(`"${record.id}" has ended but still has ${left.length} tasks`);
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

/** Checks one history: no gaps in the sequence, one start, one outcome per call (I4, I6, I7). */
function faultsOf(events: readonly HistoryEvent[]): string[] {
  const found: string[] = [];
  const answered = new Set<number>();
  for (const [index, event] of events.entries()) {
    if (event.sequence !== index + 1)
      found.push(`event at position ${index + 1} has sequence ${event.sequence}`);
    const isStart = event.kind === "OrchestrationStarted";
    if (isStart !== (index === 0)) found.push(`event ${event.sequence} must not be ${event.kind}`);
    if (!("scheduled" in event) || event.kind === "StepAttemptFailed") continue;
    if (answered.has(event.scheduled)) found.push(`event ${event.scheduled} has two outcomes`);
    answered.add(event.scheduled);
    if (event.scheduled >= event.sequence)
      found.push(`event ${event.sequence} is the outcome of a later event, ${event.scheduled}`);
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
