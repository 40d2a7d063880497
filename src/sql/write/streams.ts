// Streams: trimming, the recovery of an append, and the restart of an instance.
//   - Each store writes appends and the streams of turns itself (write/streams.ts of the stores).
//   - sql.streams.2: A row of `stream_calls` is deleted when none of its items is left and its call is over:
//     no append can come any more.
//   - sql.streams.3: When an activity that completes later is deferred, the items of its earlier runs become void. So
//     the call that completes it can settle all its rows, also after a move, which keeps no tokens.
//   - Rows are locked in this order: instance or task, stream, calls, chunks.

import type { SimpleResult } from "../../core/provider/commit.ts";
import { DONE, NOT_FOUND } from "../../core/provider/results.ts";
import type { AppendItem, TrimItem } from "../../core/provider/streams.ts";
import type { TaskAddress, TaskClaim } from "../../core/provider/tasks.ts";
import { integer, text } from "../columns.ts";
import { notExists } from "../index-lookup.ts";
import { readHead } from "../read/heads.ts";
import { first, run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

const LOCK = new Statement(`
  SELECT first, next FROM @streams WHERE instance = $1 AND name = $2 FOR NO KEY UPDATE`);
const SET_FIRST = new Statement(`
  UPDATE @streams SET first = $3 WHERE instance = $1 AND name = $2`);
const DELETE_CALLS = new Statement(`
  DELETE FROM @stream_calls AS c
  WHERE c.instance = $1 AND c.name = $2 AND c.last < $3 AND ${notExists(`
    FROM @tasks AS t
    WHERE t.instance = c.instance AND t.execution = c.execution AND t.sequence = c.call`)}`);
const DELETE_CHUNKS = new Statement(`
  DELETE FROM @stream_chunks
  WHERE instance = $1 AND name = $2 AND first < $3::bigint AND first + count <= $3::bigint`);
const SELECT_CALL = new Statement(`
  SELECT run, written FROM @stream_calls
  WHERE instance = $1 AND execution = $2 AND call = $3 AND name = $4`);
const COUNT = new Statement(`
  SELECT coalesce(sum(written), 0) AS written FROM @stream_calls
  WHERE instance = $1 AND execution = $2 AND call = $3 AND lease_token = $4::bigint`);
const SUPERSEDE = new Statement(`
  UPDATE @stream_calls SET run_since = last + 1
  WHERE instance = $1 AND execution = $2 AND call = $3
    AND lease_token IS DISTINCT FROM $4::bigint`);
const SETTLE_LAST = new Statement(`
  UPDATE @stream_calls SET settled = true
  WHERE instance = $1 AND execution = $2 AND call = $3
    AND ($4::bigint IS NULL OR lease_token = $4::bigint) RETURNING name`);
const REOPEN = new Statement(`
  UPDATE @streams SET closed = false WHERE instance = $1 AND closed = true`);

const CLOSE = new Statement(`
  UPDATE @streams SET closed = true WHERE instance = $1 AND name = $2`);

/** A chunk is deleted with its last entry. Until then the stream begins inside the chunk. */
export function* trim({ id, name, before }: TrimItem): Script<SimpleResult> {
  const target = yield* readHead(id);
  if (target === null) return NOT_FOUND;
  const { key } = target;
  const stream = yield* first(LOCK, key, name);
  if (stream === undefined) return DONE;
  const until = Math.min(before, integer(stream, "next"));
  if (until <= integer(stream, "first")) return DONE;
  yield* together(
    call(SET_FIRST, key, name, until),
    call(DELETE_CALLS, key, name, until), // sql.streams.2
    call(DELETE_CHUNKS, key, name, until),
  );
  return DONE;
}

/** Whether the values of an append are in the stream. */
export function* isAppended({
  task,
  name,
  run: wanted,
  position,
  values,
}: AppendItem): Script<boolean> {
  const row = yield* first(SELECT_CALL, task.key, task.execution, task.sequence, name);
  if (row === undefined || text(row, "run") !== wanted) return false;
  return integer(row, "written") >= position + values.length;
}

/** Whether the streams have all values that the attempt under this claim has written (provider.streams.7). */
export function* hasValues({ streamValues, ...claim }: TaskClaim): Script<boolean> {
  if (streamValues === undefined) return true;
  const { key, execution, sequence, token } = claim;
  const row = yield* first(COUNT, key, execution, sequence, token);
  return row !== undefined && integer(row, "written") >= streamValues;
}

/** The run under this claim completes later; earlier runs never count again (sql.streams.3). */
export function* supersedeRuns({ key, execution, sequence, token }: TaskClaim): Script<void> {
  yield* run(SUPERSEDE, key, execution, sequence, token);
}

/**
 * Settles what the last run of a call wrote, because a call from outside completed it (provider.streams.4). `token`:
 * the lease of an attempt that still runs.
 */
export function* settleLastRun(
  { key, execution, sequence }: TaskAddress,
  token: number | null,
): Script<boolean> {
  return (yield* run(SETTLE_LAST, key, execution, sequence, token)).length > 0;
}

/** Opens the closed streams of an instance, because it restarts (provider.streams.5), except those that stay closed. */
export function* reopenStreams(key: number, except: readonly string[] = []): Script<void> {
  yield* run(REOPEN, key);
  for (const name of except) yield* run(CLOSE, key, name);
}
