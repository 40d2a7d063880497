// The plan: the nodes that a builder has collected, with the author's functions and unchecked options.
//   - plan.1: Builder methods do not throw for an author's mistake. `build()` lists all mistakes in one error
//        (semantics 24).

import type { TaskOptions } from "./builder-types.ts";

export interface PlannedWork {
  /** An activity or an inline function. Unknown, because callers in plain JavaScript may pass anything. */
  readonly run: unknown;
  readonly options: TaskOptions & Readonly<Record<string, unknown>>;
  /** The caller passed options that are not an object. */
  readonly hasNoOptions?: true;
}
export interface PlannedBranch {
  readonly key: string;
  readonly plan: Plan;
}
export type PlannedNode = { readonly id: string } & (
  | { readonly kind: "task"; readonly work: PlannedWork; readonly defer?: PlannedWork }
  | {
      readonly kind: "fork";
      readonly branches: readonly PlannedBranch[];
      readonly onError: unknown;
    }
  | {
      readonly kind: "map";
      readonly items: PlannedWork;
      readonly plan: Plan;
      readonly concurrency: unknown;
      readonly onError: unknown;
    }
  | {
      readonly kind: "route";
      readonly key: PlannedWork;
      readonly cases: readonly PlannedBranch[];
      readonly otherwise: Plan | undefined;
      readonly envelope: boolean;
    }
  | {
      readonly kind: "loop";
      readonly plan: Plan;
      readonly maxIterations: unknown;
      readonly onMax: unknown;
    }
  | { readonly kind: "delay"; readonly duration: unknown }
  | {
      readonly kind: "wait";
      readonly signal: unknown;
      readonly timeout: unknown;
      readonly onTimeout: unknown;
    }
  | { readonly kind: "call"; readonly flow: unknown; readonly defer?: PlannedWork }
  | {
      readonly kind: "child";
      readonly target: unknown;
      readonly version: unknown;
      readonly onParentClose: unknown;
      readonly priority: unknown;
      readonly defer?: PlannedWork;
    }
  | { readonly kind: "catch"; readonly plan: Plan; readonly handler: Plan }
  | { readonly kind: "mistake"; readonly message: string }
);

export type Plan = readonly PlannedNode[];
