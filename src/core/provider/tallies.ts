// Tallies: the figures of instances that both stores keep up to date with every write, so that metrics read a few rows
// instead of every instance.

import type { StoreMetrics } from "./admin.ts";
import type { InstanceStatus } from "./instances.ts";

/** What one row of tallies adds to the figures of one status. */
export interface Tally {
  readonly status: InstanceStatus;
  readonly instances: number;
  readonly paused: number;
  readonly blocked: number;
  readonly executions: number;
  readonly events: number;
}
export type InstanceFigures = Pick<
  StoreMetrics,
  "instances" | "paused" | "blocked" | "executions" | "events"
>;

export function sumOf(tallies: readonly Tally[]): InstanceFigures {
  const instances: Record<InstanceStatus, number> = {
    pending: 0,
    running: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    terminated: 0,
  };
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

/** One line per figure that is wrong; a tally here is by how much the stored figures exceed a count. */
export function miscountTexts({ status, ...figures }: Tally): readonly string[] {
  return Object.entries(figures)
    .filter(([, excess]) => excess !== 0)
    .map(([what, excess]) => {
      const size = `${Math.abs(excess)} too ${excess > 0 ? "many" : "few"}`;
      return `status ${status}, ${what}: metrics report ${size}`;
    });
}
