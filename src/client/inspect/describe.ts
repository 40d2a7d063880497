// `describe`: reads the state of an instance from the store.
//   - describe.1: The result shows one moment, the one at which the instance's row was read. History is
//        append-only: events appended after that moment are left out. A task that ended after it still
//        appears as a wait, without the details of its task row.

import type { HistoryEvent } from "../../core/history/events.ts";
import {
  isTerminalStatus,
  type InstanceRecord,
  type TaskRecord,
} from "../../core/provider/index.ts";
import { defined } from "../../core/values/defined.ts";
import { instanceInfo, waitingFor, type InstanceInfo } from "./instance-info.ts";
import type { Store } from "../store.ts";
import { readOpen } from "./open-history.ts";
import { findUnclaimed } from "./unclaimed.ts";

/**
 * `known`: the instance's tasks, if the caller has read them. `until`: deadline for retries if the store is
 * unavailable.
 */
export async function describeRecord(
  store: Store,
  record: InstanceRecord,
  known?: readonly TaskRecord[],
  until = Infinity,
): Promise<InstanceInfo> {
  const address = { key: record.key, execution: record.execution };
  const hasEnded = isTerminalStatus(record.status);
  if (hasEnded && record.cancelRequested === null) return instanceInfo(record, [], store.codec);
  const { calls, cancel, why } = await readOpen(store, record, until);
  if (hasEnded) return withCancelTime(instanceInfo(record, [], store.codec), cancel);
  const tasks = known ?? (await store.read((provider) => provider.readTasks(address), until));
  const unclaimedReasons = await findUnclaimed(store, record, tasks, until);
  const open = waitingFor(calls, tasks, store.codec).map((wait) => {
    const unclaimed = unclaimedReasons.get(wait.sequence);
    return wait.kind === "activity" && unclaimed !== undefined ? { ...wait, unclaimed } : wait;
  });
  const info = withCancelTime(instanceInfo(record, open, store.codec), cancel);
  const unclaimed = unclaimedReasons.get(0);
  return {
    ...info,
    ...defined({ unclaimed }),
    ...(why === undefined || info.unreadable !== undefined ? {} : { unreadable: why }),
  };
}

/**
 * Adds the time at which the instance received its cancel request. Until then the history has no such
 * event.
 */
function withCancelTime(info: InstanceInfo, request: HistoryEvent | undefined): InstanceInfo {
  if (info.cancelled === undefined || request === undefined) return info;
  return { ...info, cancelled: { ...info.cancelled, at: new Date(request.at) } };
}
