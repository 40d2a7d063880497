// History: reads of the rows of events.
//   - Texts are returned as stored (provider.3). A row that fails its checksum is marked as damaged.

import type { HistoryRow } from "../../core/history/rows.ts";
import type { ExecutionRecord, HistoryRequest } from "../../core/provider/instances.ts";
import { toExecution, toHistoryRow } from "../rows/history-rows.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const SELECT = new Statement(`
  SELECT instance, execution, first, last, data, checksum FROM @history
  WHERE instance = $1 AND execution = $2 ORDER BY first`);
/** The row that contains the event after $3 is found by the index, so the rows before it cost nothing. */
const SELECT_PART = new Statement(`
  SELECT h.instance, h.execution, h.first, h.last, h.data, h.checksum FROM @history AS h
  WHERE h.instance = $1 AND h.execution = $2 AND h.last > $3 AND h.first <= $4
    AND h.first >= coalesce((
      SELECT p.first FROM @history AS p
      WHERE p.instance = $1 AND p.execution = $2 AND p.first <= $3 + 1
      ORDER BY p.first DESC LIMIT 1), 0)
  ORDER BY h.first`);
// LEFT JOIN makes SQLite join in this order: two index lookups per execution.
const SELECT_ENDS = new Statement(`
  SELECT ends.execution, ends.last, ends.head AS head_first, head.last AS head_last,
    head.data AS head, head.checksum AS head_checksum, ends.tail AS tail_first,
    tail.last AS tail_last, tail.data AS tail, tail.checksum AS tail_checksum
  FROM (
    SELECT execution, min(first) AS head, max(first) AS tail, max(last) AS last
    FROM @history WHERE instance = $1 GROUP BY execution
  ) AS ends
  LEFT JOIN @history AS head
    ON head.instance = $1 AND head.execution = ends.execution AND head.first = ends.head
  LEFT JOIN @history AS tail
    ON tail.instance = $1 AND tail.execution = ends.execution AND tail.first = ends.tail
  ORDER BY ends.execution`);

export function* readHistory(request: HistoryRequest): Script<readonly HistoryRow[]> {
  const { key, execution, after = 0, limit = Infinity } = request;
  if (after === 0 && limit === Infinity) {
    return (yield* run(SELECT, key, execution)).map(toHistoryRow);
  }
  const until = Math.min(after + limit, Number.MAX_SAFE_INTEGER);
  return (yield* run(SELECT_PART, key, execution, after, until)).map(toHistoryRow);
}

export function* readExecutions(key: number): Script<readonly ExecutionRecord[]> {
  return (yield* run(SELECT_ENDS, key)).map((row) => toExecution(row, key));
}
