// Turn columns: the values that a turn writes to the row of its instance, either by an UPDATE (turn.ts) or, for
// a first turn that its start brings along, by the INSERT of the instance (instance-inserts.ts).

import { columns } from "../sql/column-arrays.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import { dueColumns } from "../read/messages.ts";

export const TURN_COLUMNS = {
  ...columns("bigint", "last", "commit_id", "replay_version", "ending_checksum", "keep_ms"),
  ...columns("boolean", "steps_open", "clears", "release"),
  ...columns("text", "turn_version", "cancel_requested", "status", "output", "error"),
} as const;

export function turnColumns(item: TurnItem) {
  const { change } = item;
  const ended = change.kind === "ended" ? change : null;
  const { output = null, error = null, keepMs } = ended ?? {};
  return {
    last: item.row?.last ?? item.lastEvent,
    commit_id: item.commitId,
    replay_version: item.replayVersion,
    ending_checksum: output === null && error === null ? null : checksumOf(output, error),
    keep_ms: keepMs === undefined ? null : dueColumns({ delayMs: keepMs }).delay,
    steps_open: ended === null && item.stepsOpen,
    clears: ended !== null || (item.row !== null && item.keepsSuspicion !== true),
    release: ended !== null || item.release,
    turn_version: item.version,
    cancel_requested: item.cancelRequested,
    status: ended?.status ?? null,
    output,
    error,
  };
}

/** For an instance that is inserted without a turn. */
export const NO_TURN = {
  last: null,
  commit_id: null,
  replay_version: null,
  ending_checksum: null,
  keep_ms: null,
  steps_open: null,
  clears: null,
  release: null,
  turn_version: null,
  cancel_requested: null,
  status: null,
  output: null,
  error: null,
} as const;
