// Streams: reads of the entries of a stream, and the list of the streams of an instance.
//   - sql.streams.1: On PostgreSQL the chunks and the stream's row are read from two snapshots, the chunks
//     first. If the stream was written or trimmed in between and the chunk at the requested offset is not among
//     the chunks, both are read again.
//   - The sizes of the chunks are read before their texts, so a text beyond `bytesMax` is never loaded.

import { PerdureError } from "../../core/errors/errors.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { INSTANCE_STATUSES } from "../../core/provider/shared/row-checks.ts";
import type {
  StreamChunk,
  StreamPage,
  StreamRecord,
  StreamRequest,
} from "../../core/provider/streams.ts";
import { flag, integer, integerOrNull, word } from "../columns.ts";
import { indexEquals } from "../index-lookup.ts";
import { toChunk, toStreamRecord } from "../rows/stream-rows.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

const OF_STREAM = (chunk: string): string =>
  `${chunk}.instance = (SELECT i.key FROM @instances AS i WHERE i.id = $1) AND ${chunk}.name = $2`;
/** The first chunk: the last one that begins at or before the offset, otherwise the first of the stream. */
const START = `coalesce((
  SELECT s.first FROM @stream_chunks AS s WHERE ${OF_STREAM("s")} AND s.first <= $3::bigint
  ORDER BY s.first DESC LIMIT 1), 0)`;
/** The last chunk: at most $4 chunks, and none after $5 bytes. */
const END = `(
  SELECT max(w.first) FROM (
    SELECT p.first, sum(p.size) OVER (ORDER BY p.first) - p.size AS sum_before FROM (
      SELECT e.first, octet_length(e.data) AS size FROM @stream_chunks AS e
      WHERE ${OF_STREAM("e")} AND e.first >= ${START} ORDER BY e.first LIMIT $4::bigint
    ) AS p
  ) AS w WHERE w.sum_before < $5::bigint)`;
const COLUMNS = `
  c.instance, c.name, c.first, c.count, c.execution, c.call, c.kind, c.data, c.checksum`;
const IN_PAGE = `
  WHERE ${OF_STREAM("c")} AND c.first >= ${START} AND c.first <= ${END} AND c.first + c.count > $3::bigint
  ORDER BY c.first`;
const SELECT_CHUNKS = new Statement(`SELECT ${COLUMNS} FROM @stream_chunks AS c ${IN_PAGE}`);
/** One snapshot for the call and its task: one transaction deletes the task and settles the call. */
const SELECT_WITH_STATES = new Statement(`
  SELECT ${COLUMNS},
    CASE
      WHEN c.call = 0 THEN 'settled'
      WHEN k.run_since IS NULL OR c.first < k.run_since THEN 'void'
      WHEN k.settled THEN 'settled'
      WHEN t.sequence IS NOT NULL THEN 'open'
      ELSE 'void'
    END AS state
  FROM @stream_chunks AS c
  LEFT JOIN @stream_calls AS k ON ${indexEquals("k.instance", "c.instance")}
    AND k.execution = c.execution AND k.call = c.call AND k.name = c.name
  LEFT JOIN @tasks AS t ON ${indexEquals("t.instance", "c.instance")}
    AND t.execution = c.execution AND t.sequence = c.call
  ${IN_PAGE}`);
const SELECT_STREAM = new Statement(`
  SELECT i.key, i.status, s.first, s.next, s.closed
  FROM @instances AS i
  LEFT JOIN @streams AS s ON ${indexEquals("s.instance", "i.key")} AND s.name = $2
  WHERE i.id = $1`);
const SELECT_ALL = new Statement(`
  SELECT i.key, s.name, s.first, s.next, s.closed, s.updated_at
  FROM @instances AS i LEFT JOIN @streams AS s ON ${indexEquals("s.instance", "i.key")}
  WHERE i.id = $1 ORDER BY s.name`);

export function* readStream(request: StreamRequest): Script<StreamPage | null> {
  const { id, name, settled: hasState } = request;
  const statement = hasState ? SELECT_WITH_STATES : SELECT_CHUNKS;
  const offset = Math.min(request.from, Number.MAX_SAFE_INTEGER);
  const bytesMax = Math.max(request.bytesMax, 1); // the first chunk is always read
  let seen = "";
  for (;;) {
    const [found, stream] = yield* together(
      call(statement, id, name, offset, request.chunksMax, bytesMax),
      call(SELECT_STREAM, id, name),
    );
    const row = stream.rows[0];
    if (row === undefined) return null;
    const first = integerOrNull(row, "first") ?? 0;
    const next = integerOrNull(row, "next") ?? 0;
    const chunks = found.rows.map((each) => toChunk(each, hasState));
    const kept = inSequence(chunks.filter((chunk) => endOf(chunk) > first));
    const wanted = Math.max(offset, first);
    if (wanted >= next || (kept[0]?.offset ?? Infinity) <= wanted) {
      const hasEnded = isTerminalStatus(word(row, "status", INSTANCE_STATUSES));
      const isOver = hasEnded || (row["closed"] !== null && flag(row, "closed"));
      return { key: integer(row, "key"), first, next, isOver, chunks: kept };
    }
    const state = `${first}:${next}`;
    if (state === seen) throw missingEntry(id, name, wanted);
    seen = state; // sql.streams.1
  }
}

/** Sorted by name. */
export function* listStreams(id: string): Script<readonly StreamRecord[] | null> {
  const rows = yield* run(SELECT_ALL, id);
  if (rows.length === 0) return null;
  return rows.filter((row) => row["name"] !== null).map(toStreamRecord);
}

/** The chunks up to the first missing one. */
function inSequence(chunks: readonly StreamChunk[]): readonly StreamChunk[] {
  const gap = chunks.findIndex((chunk, index) => {
    const previous = chunks[index - 1];
    return previous !== undefined && chunk.offset !== endOf(previous);
  });
  return gap === -1 ? chunks : chunks.slice(0, gap);
}

function endOf(chunk: StreamChunk): number {
  return chunk.offset + (chunk.kind === "reset" ? 1 : chunk.count);
}

function missingEntry(id: string, name: string, offset: number): PerdureError {
  const message = `Stream "${name}" of instance "${id}" is damaged: its entry ${offset} is missing. Restore the store from a backup, or trim the stream after this entry.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
