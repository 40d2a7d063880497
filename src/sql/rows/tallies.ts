// Tallies: the row of a tally as a record.

import { INSTANCE_STATUSES } from "../../core/provider/shared/row-checks.ts";
import type { Tally } from "../../core/provider/tallies.ts";
import { integers, word, type Row } from "../columns.ts";

/** From the columns of the tallies table, or of `selectMiscounts`. */
export function toTally(row: Row): Tally {
  const status = word(row, "status", INSTANCE_STATUSES);
  return { status, ...integers(row, "instances", "paused", "blocked", "executions", "events") };
}
