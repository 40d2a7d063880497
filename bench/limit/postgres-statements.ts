// The statements of the limit on PostgreSQL: each writes many rows of one kind, given as lists.

import type pg from "pg";
import { ColumnArrays } from "../../src/postgres/sql/column-arrays.ts";
import { Statement } from "../../src/postgres/connection/pipeline.ts";
import { indexEquals } from "../../src/sql/index-lookup.ts";
import { prepareInsert } from "./postgres-insert.ts";

/** A constant would let the planner walk an index; a value of the list is only looked up (index-lookup.ts). */
export const ONE = { one: 1 };
export const TURNS = new ColumnArrays({ key: "bigint", last: "bigint", one: "bigint" });
export const TASKS = new ColumnArrays({ key: "bigint", sequence: "bigint", one: "bigint" });

export type Statements = Awaited<ReturnType<typeof prepareStatements>>;

/** Tables are found through the connection's search path. */
export async function prepareStatements(client: pg.Client) {
  const insertInstances = await prepareInsert(client, "instances", {
    rows: { key: "bigint", now: "bigint", id: "text", run: "text" },
    values: {
      ...{ key: "t.key", id: "t.id", run_id: "t.run", name: "'limit'", version: "'1.0.0'" },
      ...{ created_at: "t.now", updated_at: "t.now", status: "'running'", execution: "1" },
      ...{ priority: "3", lease_owner: "'limit'", lease_token: "1" },
      ...{ on_parent_close: "'cancel'", attributes: "'{}'" },
    },
  });
  const insertHistory = await prepareInsert(client, "history", {
    rows: { key: "bigint", first: "bigint", data: "text" },
    values: {
      ...{ instance: "t.key", execution: "1", first: "t.first", last: "t.first + 1" },
      data: "t.data",
    },
  });
  const insertTasks = await prepareInsert(client, "tasks", {
    rows: { key: "bigint", sequence: "bigint", now: "bigint" },
    values: {
      ...{ instance: "t.key", execution: "1", sequence: "t.sequence", available_at: "t.now" },
      ...{ priority: "3", lease_owner: "'limit'", lease_token: "1", name: "'increment'" },
      input: "'1'",
    },
  });
  const insertMessages = await prepareInsert(client, "inbox", {
    rows: { id: "bigint", key: "bigint", visible_at: "bigint", kind: "text" },
    values: {
      ...{ id: "t.id", instance: "t.key", visible_at: "t.visible_at", kind: "t.kind" },
      ...{ priority: "3", target: "'limit'", execution: "1", sequence: "2", data: "'1'" },
    },
  });
  const begin = new Statement("BEGIN");
  const commit = new Statement("COMMIT");
  const advance = new Statement(`
    UPDATE instances AS i SET last_event = t.last, updated_at = $${TURNS.width + 1}
    FROM ${TURNS.from("t")} WHERE ${indexEquals("i.key", "t.key")} AND i.lease_token = t.one`);
  const end = new Statement(`
    UPDATE instances AS i SET last_event = t.last, updated_at = $${TURNS.width + 1},
      completed_at = $${TURNS.width + 1}, status = 'completed', output = '1',
      lease_owner = NULL, lease_token = NULL
    FROM ${TURNS.from("t")} WHERE ${indexEquals("i.key", "t.key")} AND i.lease_token = t.one`);
  const deleteTasks = new Statement(`
    DELETE FROM tasks AS k USING ${TASKS.from("t")}
    WHERE ${indexEquals("k.instance", "t.key")} AND k.execution = t.one AND k.sequence = t.sequence AND k.lease_token = t.one`);
  const deleteMessages = new Statement("DELETE FROM inbox WHERE id = ANY($1::bigint[])");
  return {
    ...{ begin, commit, insertInstances, advance, end, insertHistory },
    ...{ insertTasks, deleteTasks, insertMessages, deleteMessages },
  };
}
