// Tallies: counts of instances that both stores update with every write, so that metrics read a few rows
// instead of every instance.

import type { StoreMetrics } from "./admin.ts";
import type { InstanceStatus } from "./instances.ts";
import { INSTANCE_STATUSES } from "./shared/row-checks.ts";

/** What one row of tallies adds to the counts of one status. */
export interface Tally {
  readonly status: InstanceStatus;
  readonly instances: number;
  readonly paused: number;
  readonly blocked: number;
  readonly executions: number;
  readonly events: number;
}
export type InstanceFigures = Pick<StoreMetrics, Exclude<keyof Tally, "status">>;

export function sumTallies(tallies: readonly Tally[]): InstanceFigures {
  const none = INSTANCE_STATUSES.map((status) => [status, 0]);
  const instances = Object.fromEntries(none) as Record<InstanceStatus, number>; // every status
  const sums = { paused: 0, blocked: 0, executions: 0, events: 0 };
  for (const tally of tallies) {
    instances[tally.status] += tally.instances;
    sums.paused += tally.paused;
    sums.blocked += tally.blocked;
    sums.executions += tally.executions;
    sums.events += tally.events;
  }
  return { instances, ...sums };
}

/**
 * One line per wrong count. The tally contains the difference between the stored counts and the actual
 * ones.
 */
export function miscountTexts({ status, ...figures }: Tally): readonly string[] {
  return Object.entries(figures)
    .filter(([, excess]) => excess !== 0)
    .map(([what, excess]) => {
      const size = `${Math.abs(excess)} too ${excess > 0 ? "many" : "few"}`;
      return `status ${status}, ${what}: metrics report ${size}`;
    });
}

/**
 * SQL that compares the tallies with a count of instances: by how much the tallies of each status exceed the
 * count. It returns no row where they agree. `prefix` stands before the names of tables.
 */
export function selectMiscounts(prefix: "" | "@"): string {
  return `
    SELECT status, sum(instances) AS instances, sum(paused) AS paused, sum(blocked) AS blocked,
      sum(executions) AS executions, sum(events) AS events
    FROM (
      SELECT status, instances, paused, blocked, executions, events FROM ${prefix}tallies
      UNION ALL
      SELECT status, -count(*), -count(paused), -count(blocked), -sum(1 + past_executions),
        -sum(last_event + past_events)
      FROM ${prefix}instances GROUP BY status
    ) AS t
    GROUP BY status
    HAVING sum(instances) <> 0 OR sum(paused) <> 0 OR sum(blocked) <> 0 OR sum(executions) <> 0
      OR sum(events) <> 0`;
}
