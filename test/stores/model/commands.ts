// Commands: random sequences of calls.
//   - A command is a kind and a list of numbers, so that a sequence shrinks by leaving commands out. 0 is always the
//       simplest choice.

import fc from "fast-check";

/** The relative frequency of each kind. */
const WEIGHTS = {
  turn: 26,
  start: 9,
  leaseInstances: 8,
  leaseTasks: 8,
  advance: 5,
  completion: 4,
  send: 4,
  ask: 6,
  withdraw: 2,
  append: 10,
  trim: 2,
  retry: 3,
  settle: 4,
  releaseTask: 4,
  stepOutcome: 2,
  pause: 2,
  resume: 2,
  block: 2,
  unblock: 3,
  cancel: 2,
  terminate: 2,
  fork: 2,
  releaseInstance: 2,
  takeMessages: 1,
  renewInstances: 2,
  renewTasks: 3,
  heartbeatTasks: 3,
  lostTasks: 3,
  registerRuntime: 3,
  removeRuntime: 1,
  beat: 2,
  expireRuntime: 2,
  deleteInstance: 2,
  pruneExecutions: 2,
  reopen: 1,
} as const;
export type Kind = keyof typeof WEIGHTS;
export const KINDS = Object.keys(WEIGHTS) as Kind[];

export interface Command {
  readonly kind: Kind;
  /** In one transaction with the previous command, if both are commits. */
  readonly joins: boolean;
  readonly picks: readonly number[];
}

export const commands: fc.Arbitrary<readonly Command[]> = fc.noBias(
  fc.array(
    fc.record({
      kind: fc.oneof(
        ...KINDS.map((kind) => ({ weight: WEIGHTS[kind], arbitrary: fc.constant(kind) })),
      ),
      joins: fc.nat(5).map((value) => value === 5),
      picks: fc.array(fc.nat(999), { minLength: 48, maxLength: 48 }),
    }),
    { maxLength: 80, size: "max" }, // 40 on average
  ),
);
