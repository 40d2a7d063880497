// What `describe` tells about an instance, read from the store.
//   DE1. It is of one moment, that of the instance's row. History only grows, so events appended since are left out. Of a
//        task that has ended since, only the wait for it is known.

import { isPerdureError } from "../core/errors.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { decodeHistory, type HistoryRow } from "../core/history-row.ts";
import { isTerminalStatus, type InstanceRecord, type TaskRecord } from "../core/provider/index.ts";
import { instanceInfo, waitingFor, type InstanceInfo } from "./instance-info.ts";
import type { Store } from "./store.ts";
import { unclaimedOf } from "./unclaimed.ts";

/** `known`: the instance's tasks, where the caller has read them. `until`: how long a store in trouble is retried. */
export async function describeRecord(
  store: Store,
  record: InstanceRecord,
  known?: readonly TaskRecord[],
  until = Infinity,
): Promise<InstanceInfo> {
  const address = { key: record.key, execution: record.execution };
  const hasEnded = isTerminalStatus(record.status);
  if (hasEnded && record.cancelRequested === null) return instanceInfo(record, [], store.codec);
  const rows = await store.read((provider) => provider.readHistory(address), until);
  const { events, why } = readableEvents(rows, () =>
    store.verifyRows(record, record.execution, rows),
  );
  const past = events.slice(0, record.lastEvent); // DE1
  if (hasEnded) return withCancelTime(instanceInfo(record, [], store.codec), past);
  const tasks = known ?? (await store.read((provider) => provider.readTasks(address), until));
  const nobody = await unclaimedOf(store, record, tasks, until);
  const open = waitingFor(past, tasks, store.codec).map((wait) => {
    const unclaimed = nobody.get(wait.sequence);
    return wait.kind === "activity" && unclaimed !== undefined ? { ...wait, unclaimed } : wait;
  });
  const info = withCancelTime(instanceInfo(record, open, store.codec), past);
  const unclaimed = nobody.get(0);
  return {
    ...info,
    ...(unclaimed === undefined ? {} : { unclaimed }),
    ...(why === undefined || info.unreadable !== undefined ? {} : { unreadable: why }),
  };
}

/** The request is in the history as soon as the instance has taken it. */
function withCancelTime(info: InstanceInfo, events: readonly HistoryEvent[]): InstanceInfo {
  const request = events.find(({ kind }) => kind === "OrchestrationCancelRequested");
  if (info.cancelled === undefined || request === undefined) return info;
  return { ...info, cancelled: { ...info.cancelled, at: new Date(request.at) } };
}

/** Of a history that cannot be read, only the reason is told (semantics 6). */
function readableEvents(
  rows: readonly HistoryRow[],
  verify: () => void,
): { readonly events: readonly HistoryEvent[]; readonly why?: string } {
  try {
    verify();
    return { events: decodeHistory(rows) };
  } catch (error) {
    const isTold = isPerdureError(error, "HISTORY_CORRUPT") || isPerdureError(error, "KEY_MISSING");
    if (isTold) return { events: [], why: error.message };
    throw error;
  }
}
