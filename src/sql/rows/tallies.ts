// Tallies: the row of a tally as a record.

import { INSTANCE_STATUSES } from "../../core/provider/shared/row-checks.ts";
import type { Tally } from "../../core/provider/tallies.ts";
import { integer, word, type Row } from "../columns.ts";

/** From the columns of the tallies table, or of `selectMiscounts`. */
export function toTally(row: Row): Tally {
  return {
    status: word(row, "status", INSTANCE_STATUSES),
    instances: integer(row, "instances"),
    paused: integer(row, "paused"),
    blocked: integer(row, "blocked"),
    executions: integer(row, "executions"),
    events: integer(row, "events"),
  };
}
