// Waits: what the instances of a list wait for, as far as the store knows without their histories (admin.11).
//   - Each part is a few index lookups per instance: its first tasks and timers, some of its children, and the last
//     row of its history. The number of rows that an instance has does not matter.

import type { WaitsRecord } from "../../core/provider/admin.ts";
import { LISTED_BYTES_MAX, WAITS_MAX } from "../../core/provider/instances.ts";
import { integer, text, textOrNull, type Row } from "../columns.ts";
import { indexEquals } from "../index-lookup.ts";
import { toHistoryRow } from "../rows/history-rows.ts";
import { together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

/** Children that have ended are among them. */
const CHILDREN_READ_MAX = 20;

const SELECT_TASKS = new Statement(`
  SELECT t.instance, t.sequence, t.name, t.attempt, t.available_at, t.lease_owner, t.deferred_until
  FROM @instances AS i JOIN @tasks AS t
    ON ${indexEquals("t.instance", "i.key")} AND ${indexEquals("t.execution", "i.execution")}
    AND t.sequence = ANY (ARRAY(
      SELECT s.sequence FROM @tasks AS s WHERE s.instance = i.key AND s.execution = i.execution
      ORDER BY s.sequence LIMIT ${WAITS_MAX}))
  WHERE i.key = ANY ($1::bigint[]) ORDER BY t.instance, t.sequence`);
const SELECT_TIMERS = new Statement(`
  SELECT t.instance, t.sequence, t.visible_at AS due FROM @instances AS i JOIN @inbox AS t
    ON t.id = ANY (ARRAY(
      SELECT s.id FROM @inbox AS s
      WHERE s.instance = i.key AND s.key IS NULL AND s.sequence IS NOT NULL
      ORDER BY s.sequence LIMIT ${WAITS_MAX}))
  WHERE i.key = ANY ($1::bigint[]) AND t.kind = 'timer' ORDER BY t.instance, t.sequence`);
const SELECT_CHILDREN = new Statement(`
  SELECT i.key AS instance, c.parent_sequence AS sequence, c.id, c.name
  FROM @instances AS i JOIN @instances AS c
    ON c.key = ANY (ARRAY(
      SELECT k.key FROM @instances AS k WHERE k.parent_id = i.id LIMIT ${CHILDREN_READ_MAX}))
  WHERE i.key = ANY ($1::bigint[]) AND c.completed_at IS NULL AND c.parent_run_id = i.run_id
    AND (c.parent_execution = i.execution OR i.copied_until > 0)
  ORDER BY i.key, c.parent_sequence`);
const SELECT_LAST_ROWS = new Statement(`
  SELECT h.instance, h.execution, h.first, h.last, h.data, h.checksum
  FROM @instances AS i JOIN @history AS h
    ON ${indexEquals("h.instance", "i.key")} AND ${indexEquals("h.execution", "i.execution")}
    AND h.first = ANY (ARRAY(
      SELECT l.first FROM @history AS l WHERE l.instance = i.key AND l.execution = i.execution
      ORDER BY l.first DESC LIMIT 1))
  WHERE i.key = ANY ($1::bigint[]) AND octet_length(h.data) <= ${LISTED_BYTES_MAX}`);

export function* readWaits(keys: readonly number[]): Script<readonly WaitsRecord[]> {
  const [tasks, timers, children, rows] = yield* together(
    call(SELECT_TASKS, keys),
    call(SELECT_TIMERS, keys),
    call(SELECT_CHILDREN, keys),
    call(SELECT_LAST_ROWS, keys),
  );
  const tasksOf = byInstance(tasks.rows, toTask);
  const timersOf = byInstance(timers.rows, toTimer);
  const childrenOf = byInstance(children.rows, toChild);
  const rowsOf = byInstance(rows.rows, toHistoryRow);
  return keys.map((key) => ({
    key,
    tasks: tasksOf.get(key) ?? [],
    timers: timersOf.get(key) ?? [],
    children: (childrenOf.get(key) ?? []).slice(0, WAITS_MAX),
    lastRow: (rowsOf.get(key) ?? [])[0] ?? null,
  }));
}

function byInstance<T>(rows: readonly Row[], to: (row: Row) => T): ReadonlyMap<number, T[]> {
  const found = new Map<number, T[]>();
  for (const row of rows) {
    const key = integer(row, "instance");
    const known = found.get(key);
    if (known === undefined) found.set(key, [to(row)]);
    else known.push(to(row));
  }
  return found;
}

function toTask(row: Row): WaitsRecord["tasks"][number] {
  return {
    sequence: integer(row, "sequence"),
    name: text(row, "name"),
    attempt: integer(row, "attempt"),
    availableAt: integer(row, "available_at"),
    owner: textOrNull(row, "lease_owner"),
    ...(row["deferred_until"] === null ? {} : { isDeferred: true }),
  };
}

function toTimer(row: Row): WaitsRecord["timers"][number] {
  return { sequence: integer(row, "sequence"), due: integer(row, "due") };
}

function toChild(row: Row): WaitsRecord["children"][number] {
  return { sequence: integer(row, "sequence"), id: text(row, "id"), name: text(row, "name") };
}
