// Newborn: how the statements behind a birth know whom it brought forth (births.ts).
//   NB1. By id, run id and `last_commit`, which is the births' number until the first turn writes its own. An
//        instance that was there before has another.
//   NB2. Their times count from `created_at`, so that all that one birth writes agrees on what time it is.

import { ColumnArrays } from "./column-arrays.ts";
import { dueTime } from "./messages.ts";
import { probe } from "./probing.ts";

export const WHO = { id: "text", run_id: "text", delay: "bigint", due_at: "bigint" } as const;

/** Of an instance `i` and the columns `t`; the births' number is the first parameter. */
export const IS_NEWBORN = `${probe("i.id", "t.id")} AND i.run_id = t.run_id AND i.last_commit = $1::bigint`;
/** When the start of the instance `i` becomes visible, and nothing before it. */
export const VISIBLE_AT = `greatest(i.created_at, ${dueTime("t", "i.created_at")})`;

export const NEWBORN = new ColumnArrays(WHO);
export const NEWBORN_FROM = `${NEWBORN.from("t", 2)} JOIN @instances AS i ON ${IS_NEWBORN}`;
