// Snapshots: everything a scenario left in the store, in a form that two runs are compared by.
//   Left out of the comparison: stacks of errors (a hot and a cold turn are entered from different places), and
//   of `describe` nothing. Times, run ids, seeds, idempotency keys and log lines are compared.

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
    if (!(await handle.exists())) continue; // its start was refused, or taken back with its turn
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
    executions: withoutStacks([...executions]),
  }));
  return instances;
}

/** The same data without any `stack`. Errors become their own properties. */
export function withoutStacks(value: unknown): unknown {
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (key === "stack") return undefined;
    return typeof part === "bigint" ? `${part}n` : part;
  });
  return text === undefined ? undefined : JSON.parse(text);
}
