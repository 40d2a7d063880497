// Records of repairs, in the first event of the execution that a repair began (docs/decisions/0046).
//   - Histories contain these shapes: members are added, never renamed.

import type { ActivityScheduled, StepScheduled } from "./work-events.ts";

/** What an operator did to an instance, why, and who did it. */
export interface Repair {
  readonly kind: "rewind" | "fork" | "restart";
  /** By the store's clock. */
  readonly at: number;
  readonly reason: string;
  readonly by?: string;
  /** The execution that was repaired. */
  readonly execution: number;
  /** The source of a fork. */
  readonly source?: string;
  /** The copied past contains the events of that execution before this one. Absent: nothing was copied. */
  readonly before?: number;
  /** The calls whose outcome the operator replaced. */
  readonly replaced?: readonly number[];
}

/** A past that a rewind copied from an earlier execution of the same instance (semantics 21b). */
export interface Rewound {
  /** The earlier executions whose idempotency keys the calls of the copied past keep, by ascending `until`. */
  readonly keys: readonly KeySource[];
  /** Open calls of the copied past that are not scheduled again: their outcome is on its way, or in the inbox. */
  readonly kept?: readonly number[];
  /** The call at the cut, if it is an activity or a step. The same call keeps its idempotency key. */
  readonly redone?: RedoneCall;
}

/** The calls up to `until` that no earlier source covers have the idempotency keys of `execution`. */
export interface KeySource {
  readonly until: number;
  readonly execution: number;
}

export interface RedoneCall {
  readonly sequence: number;
  /** The execution of its idempotency key. */
  readonly execution: number;
  readonly call: ActivityScheduled | StepScheduled;
}

/** An outcome that may come from an operator. */
export interface MayBeReplaced {
  /** Set: an operator gave this outcome (`replace`). The repair of the execution says who and why. */
  readonly replaced?: true;
}
