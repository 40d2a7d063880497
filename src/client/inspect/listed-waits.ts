// What an instance of a list waits for, from what the store knows without the history (admin.11).
//   - The last row shows the waits that began with the last turn, also those for an event, a callback,
//        a request or an answer, which no other table shows. If such a wait began in a row that is not the first one
//        and took an event that had arrived before, it is listed although it is over: `describe` knows better.

import { isPerdureError } from "../../core/errors/errors.ts";
import { openCalls, projectHistory, type Call } from "../../core/history/projection.ts";
import { decodeRow, type HistoryRow } from "../../core/history/rows.ts";
import {
  isTerminalStatus,
  WAITS_MAX,
  type ListedInstance,
  type WaitsRecord,
} from "../../core/provider/index.ts";
import type { Codec } from "../../core/values/codec.ts";
import type { Store } from "../store.ts";
import { activityWait, waitingFor, type WaitingFor } from "./instance-info.ts";

/** The waits of the instances that have not ended, by key. */
export async function listedWaits(
  store: Store,
  listed: readonly ListedInstance[],
): Promise<ReadonlyMap<number, readonly WaitingFor[]>> {
  const live = listed.filter(({ status }) => !isTerminalStatus(status)).map(({ key }) => key);
  if (live.length === 0) return new Map();
  const records = await store.read((provider) => provider.readWaits(live));
  return new Map(records.map((record) => [record.key, waitsOf(record, store.codec)]));
}

function waitsOf(record: WaitsRecord, codec: Codec): readonly WaitingFor[] {
  const { tasks, timers, children, lastRow } = record;
  const waits = new Map<number, WaitingFor>();
  for (const { sequence, due } of timers) {
    waits.set(sequence, { kind: "timer", sequence, due: new Date(due) });
  }
  for (const child of children) waits.set(child.sequence, { kind: "child", ...child });
  for (const task of tasks) {
    waits.set(task.sequence, activityWait(task.sequence, task.name, task, codec));
  }
  for (const wait of waitingFor(callsOf(lastRow), tasks, codec)) waits.set(wait.sequence, wait);
  const inOrder = [...waits.values()].sort((a, b) => a.sequence - b.sequence);
  return inOrder.slice(0, WAITS_MAX);
}

/** The calls that the row opens and does not end. Empty if the row cannot be read. */
function callsOf(row: HistoryRow | null): readonly Call[] {
  if (row === null) return [];
  try {
    return openCalls(projectHistory(decodeRow(row)));
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return [];
    throw error;
  }
}
