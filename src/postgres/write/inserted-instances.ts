// Inserted instances: SQL by which later statements of a pipeline find the instances that the pipeline
// inserted (instance-inserts.ts).
//   - They match by id, run id and `last_commit`, which holds the number of the insert, or of the first turn
//     that was inserted with the instance. An instance that existed before has another value there.
//   - All times count from the instance's `created_at`, so every row written by one insert uses the same
//     time.

import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import { dueTime } from "../read/messages.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

export const INSERTED_COLUMNS = {
  ...columns("text", "id", "run_id"),
  ...columns("bigint", "delay", "due_at", "commit"),
} as const;

/** SQL condition on an instance `i` and the rows `t`. */
export const IS_INSERTED = `${indexEquals("i.id", "t.id")} AND i.run_id = t.run_id AND i.last_commit = t.commit`;
/** SQL of the time at which the start of the instance `i`, and so its first message, becomes visible. */
export const VISIBLE_AT = `greatest(i.created_at, ${dueTime("t", "i.created_at")})`;

export const INSERTED = new ColumnArrays(INSERTED_COLUMNS);
