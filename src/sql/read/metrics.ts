// Metrics: counts for the whole store.
//   - Counts of instances are sums of tallies, which triggers maintain (0008-tallies.sql). Neither
//       instances nor history are read, however many rows there are.
//   - Due messages are counted per partition, so timers in the far future cost nothing. Events that are
//       parked behind the oldest event of a live instance are added (read/inbox.ts of each store).

import type { InstanceFilter, NameCount, StoreMetrics } from "../../core/provider/admin.ts";
import { INSTANCE_STATUSES } from "../../core/provider/shared/row-checks.ts";
import { sumTallies } from "../../core/provider/tallies.ts";
import { integer, integers, only, text, word } from "../columns.ts";
import type { StoreStatements } from "../parts.ts";
import { toTally } from "../rows/tallies.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import { lives } from "../write/early-messages.ts";

const SELECT_TALLIES = new Statement(`
  SELECT status, sum(instances) AS instances, sum(paused) AS paused, sum(blocked) AS blocked,
    sum(executions) AS executions, sum(events) AS events
  FROM @tallies WHERE status <> '' GROUP BY status`);
const SELECT_NAMES = new Statement(`
  SELECT name, status, sum(instances) AS instances, sum(paused) AS paused, sum(blocked) AS blocked
  FROM @tallies WHERE name <> '' GROUP BY name, status HAVING sum(instances) <> 0`);
const COUNT_TASKS = new Statement(`
  SELECT count(*) FILTER (WHERE lease_owner IS NULL AND available_at <= @now) AS waiting,
    count(*) FILTER (WHERE lease_owner IS NOT NULL) AS running
  FROM @tasks`);
const COUNT_KEPT = new Statement(`
  SELECT count(*) FILTER (WHERE ${lives("k", "@now")}) AS kept, count(*) AS listed FROM @kept AS k`);
const COUNT_STRANDED = new Statement(`
  SELECT coalesce(sum(leases_stranded), 0) AS stranded FROM @runtimes`);

export function* readMetrics({ countDue }: StoreStatements): Script<StoreMetrics> {
  const [tallies, due, kept, counted, stranded] = yield* together(
    call(SELECT_TALLIES),
    call(countDue),
    call(COUNT_KEPT),
    call(COUNT_TASKS),
    call(COUNT_STRANDED),
  );
  const tasks = only(counted.rows);
  const keptMessages = integer(only(kept.rows), "kept");
  return {
    ...sumTallies(tallies.rows.map(toTally)),
    dueMessages: integer(only(due.rows), "due"),
    keptMessages,
    expiredMessages: integer(only(kept.rows), "listed") - keptMessages,
    waitingTasks: integer(tasks, "waiting"),
    runningTasks: integer(tasks, "running"),
    strandedLeases: integer(only(stranded.rows), "stranded"),
  };
}

export function* countByName(): Script<readonly NameCount[]> {
  return (yield* run(SELECT_NAMES)).map((row) => ({
    name: text(row, "name"),
    status: word(row, "status", INSTANCE_STATUSES),
    ...integers(row, "instances", "paused", "blocked"),
  }));
}

/** How many instances match a filter that names only statuses and a name; null: it names more. */
export function* countNamed(filter: InstanceFilter): Script<number | null> {
  const { status, name, ...rest } = filter;
  if (Object.values(rest).some((member) => member !== undefined)) return null;
  let sum = 0;
  for (const count of yield* countByName()) {
    if (name !== undefined && count.name !== name) continue;
    if (status === undefined || status.includes("paused")) sum += count.paused;
    if (status === undefined || status.includes(count.status))
      sum += count.instances - count.paused;
  }
  return sum;
}
