// Tallies: the rows that triggers keep (0008-tallies.sql), and how they are compared with a real count.

import { INSTANCE_STATUSES } from "../core/provider/row-checks.ts";
import type { Tally } from "../core/provider/tallies.ts";
import { integer, word, type Row } from "./columns.ts";

/** By how much the tallies of each status exceed a count of its instances; no row where they agree. */
export const SELECT_MISCOUNTS = `
  SELECT status, sum(instances) AS instances, sum(paused) AS paused, sum(blocked) AS blocked,
    sum(executions) AS executions, sum(events) AS events
  FROM (
    SELECT status, instances, paused, blocked, executions, events FROM tallies
    UNION ALL
    SELECT status, -count(*), -count(paused), -count(blocked), -sum(1 + past_executions),
      -sum(last_event + past_events)
    FROM instances GROUP BY status
  )
  GROUP BY status
  HAVING sum(instances) <> 0 OR sum(paused) <> 0 OR sum(blocked) <> 0 OR sum(executions) <> 0
    OR sum(events) <> 0`;

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
