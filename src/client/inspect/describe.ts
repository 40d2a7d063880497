// `describe`: reads the state of an instance from the store.
//   - describe.1: The result shows one moment, the one at which the instance's row was read. History is
//        append-only: events appended after that moment are left out. A task that ended after it still
//        appears as a wait, without the details of its task row.

import { decodeContext, NO_CONTEXT } from "../../core/context/start-context.ts";
import type { HistoryEvent, OrchestrationStarted } from "../../core/history/events.ts";
import type { Codec } from "../../core/values/codec.ts";
import {
  isTerminalStatus,
  type InstanceRecord,
  type TaskRecord,
} from "../../core/provider/index.ts";
import { defined } from "../../core/values/defined.ts";
import { decodeRow } from "../../core/history/rows.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { instanceInfo, tryRead, waitingFor, type InstanceInfo } from "./instance-info.ts";
import type { Store } from "../store.ts";
import { withHistory } from "./cancelled.ts";
import { readOpen, type OpenHistory } from "./open-history.ts";
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
  const info = await describeState(store, record, known, until);
  const started = await startOf(store, record, until);
  return started === undefined ? info : withStart(info, started, store.codec);
}

const NOTHING = { value: NO_CONTEXT, why: undefined };

/** Adds the repairs that led to this execution, and its context. */
function withStart(
  info: InstanceInfo,
  { repairs = [], context }: OrchestrationStarted,
  codec: Codec,
): InstanceInfo {
  const listed = repairs.map(({ at, ...repair }) => ({ ...repair, at: new Date(at) }));
  const read = context === undefined ? NOTHING : tryRead(() => decodeContext(context, codec));
  const unreadable = info.unreadable ?? read.why;
  return {
    ...info,
    ...(read.value === undefined || Object.keys(read.value).length === 0
      ? {}
      : { context: read.value }),
    ...defined({ unreadable }),
    ...(listed.length === 0 ? {} : { repairs: listed }),
  };
}

async function describeState(
  store: Store,
  record: InstanceRecord,
  known: readonly TaskRecord[] | undefined,
  until: number,
): Promise<InstanceInfo> {
  const address = { key: record.key, execution: record.execution };
  const hasEnded = isTerminalStatus(record.status);
  if (hasEnded && record.cancelRequested === null) return instanceInfo(record, [], store.codec);
  const history = await readOpen(store, record, until);
  const { calls, why } = history;
  if (hasEnded) return withCancel(instanceInfo(record, [], store.codec), history);
  const tasks = known ?? (await store.read((provider) => provider.readTasks(address), until));
  const unclaimedReasons = await findUnclaimed(store, record, tasks, until);
  const open = waitingFor(calls, tasks, store.codec).map((wait) => {
    const unclaimed = unclaimedReasons.get(wait.sequence);
    return wait.kind === "activity" && unclaimed !== undefined ? { ...wait, unclaimed } : wait;
  });
  const info = withCancel(instanceInfo(record, open, store.codec), history);
  const unclaimed = unclaimedReasons.get(0);
  return {
    ...info,
    ...defined({ unclaimed }),
    ...(why === undefined || info.unreadable !== undefined ? {} : { unreadable: why }),
  };
}

/** The start of the newest execution. Undefined: its first turn is not written yet, or it cannot be read. */
async function startOf(
  store: Store,
  { key, execution, lastEvent }: InstanceRecord,
  until: number,
): Promise<OrchestrationStarted | undefined> {
  if (lastEvent === 0) return undefined;
  const request = { key, execution, limit: 1 };
  const [row] = await store.read((provider) => provider.readHistory(request), until);
  if (row === undefined || row.first !== 1) return undefined;
  let first: HistoryEvent | undefined;
  try {
    [first] = decodeRow(row);
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return undefined; // the history itself reports it
    throw error;
  }
  return first?.kind === "OrchestrationStarted" ? first : undefined;
}

function withCancel(info: InstanceInfo, history: OpenHistory): InstanceInfo {
  const { cancelled } = info;
  return cancelled === undefined ? info : { ...info, cancelled: withHistory(cancelled, history) };
}
