// Snapshots: everything that a scenario left in the store, in a form that allows comparing two runs.
//   The comparison ignores only the stacks of errors, because hot and cold turns have different callers, and which
//   answers record the state of an entity, because the modes divide a burst of requests into different turns.
//   It includes all fields of `describe`, and times, run ids, seeds, idempotency keys and log lines.

import type { Client, HistoryEvent, InstanceInfo } from "../../../src/index.ts";

export interface InstanceSnapshot {
  readonly info: InstanceInfo;
  /** Histories by execution. */
  readonly executions: ReadonlyMap<number, readonly HistoryEvent[]>;
}
export type Snapshot = ReadonlyMap<string, InstanceSnapshot>;

export async function takeSnapshot(client: Client, ids: ReadonlySet<string>): Promise<Snapshot> {
  const snapshot = new Map<string, InstanceSnapshot>();
  for (const id of [...ids].sort()) {
    const handle = client.get(id);
    if (!(await handle.exists())) continue; // the start was refused, or rolled back with its turn
    const executions = new Map<number, readonly HistoryEvent[]>();
    for (const { execution } of await handle.executions()) {
      executions.set(execution, await handle.history({ execution }));
    }
    snapshot.set(id, { info: await handle.describe(), executions });
  }
  return snapshot;
}

/** Plain data, for a deep comparison. */
export function comparable(snapshot: Snapshot): unknown {
  const instances = [...snapshot].map(([id, { info, executions }]) => ({
    id,
    info: withoutStacks(info),
    executions: withoutStacks([...executions].map(([n, events]) => [n, events.map(withoutState)])),
  }));
  return instances;
}

function withoutState(event: HistoryEvent): object {
  if (event.kind !== "RequestAnswered") return event;
  const { state: _state, ...rest } = event;
  return rest;
}

/** The same data without any `stack`. An error becomes an object of its own properties. */
export function withoutStacks(value: unknown): unknown {
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (key === "stack") return undefined;
    return typeof part === "bigint" ? `${part}n` : part;
  });
  return text === undefined ? undefined : JSON.parse(text);
}
