// Choice of a simulation: the workload and its faults, by the name under which a job process finds them.

import {
  LOST_TAIL_FAULTS,
  lostTail,
  programs,
  QUEUE_FAULTS,
  queues,
  type SimulateOptions,
} from "../../src/testing/simulation/index.ts";

/** "forget": the store loses its last commits, in addition to all other faults. "queues": jobs under rules and limits. */
export type ChoiceName = "programs" | "forget" | "queues";
/** The workload, and the faults that may happen. */
export type Choice<Plan> = Pick<SimulateOptions<Plan>, "workload" | "faults">;

/** Calls `use` with the choice of that name. */
export function withChoice<T>(name: ChoiceName, use: <Plan>(choice: Choice<Plan>) => T): T {
  if (name === "forget") return use({ workload: lostTail(), faults: LOST_TAIL_FAULTS });
  if (name === "queues") return use({ workload: queues(), faults: QUEUE_FAULTS });
  return use({ workload: programs() });
}
