// What a builder collects: nodes as their author gave them, functions and all, nothing judged yet.
//   PL1. A builder never throws for a mistake of its author: `build()` lists all of them together (semantics 24).

import type { Activity } from "../core/definitions.ts";
import type { TaskOptions } from "./builder-types.ts";

export interface PlannedWork {
  /** An activity, or a function of the flow's own; typed as unknown because callers without types come here too. */
  readonly run: unknown;
  readonly options: TaskOptions & Readonly<Record<string, unknown>>;
  /** Something else than an object was given for options. */
  readonly hasNoOptions?: true;
}
export interface PlannedBranch {
  readonly key: string;
  readonly plan: Plan;
}
interface PlannedBase {
  readonly id: string;
}
export type PlannedNode =
  | (PlannedBase & {
      readonly kind: "task";
      readonly work: PlannedWork;
      readonly defer?: PlannedWork;
    })
  | (PlannedBase & {
      readonly kind: "fork";
      readonly branches: readonly PlannedBranch[];
      readonly onError: unknown;
    })
  | (PlannedBase & {
      readonly kind: "map";
      readonly items: PlannedWork;
      readonly plan: Plan;
      readonly concurrency: unknown;
      readonly onError: unknown;
    })
  | (PlannedBase & {
      readonly kind: "route";
      readonly key: PlannedWork;
      readonly cases: readonly PlannedBranch[];
      readonly otherwise: Plan | undefined;
      readonly envelope: boolean;
    })
  | (PlannedBase & {
      readonly kind: "loop";
      readonly plan: Plan;
      readonly maxIterations: unknown;
      readonly onMax: unknown;
    })
  | (PlannedBase & { readonly kind: "delay"; readonly duration: unknown })
  | (PlannedBase & {
      readonly kind: "wait";
      readonly signal: unknown;
      readonly timeout: unknown;
      readonly onTimeout: unknown;
    })
  | (PlannedBase & {
      readonly kind: "call";
      readonly flow: unknown;
      readonly defer?: PlannedWork;
    })
  | (PlannedBase & {
      readonly kind: "child";
      readonly target: unknown;
      readonly version: unknown;
      readonly onParentClose: unknown;
      readonly priority: unknown;
      readonly defer?: PlannedWork;
    })
  | (PlannedBase & { readonly kind: "catch"; readonly plan: Plan; readonly handler: Plan })
  | (PlannedBase & { readonly kind: "mistake"; readonly message: string });

export type Plan = readonly PlannedNode[];

export function isActivity(value: unknown): value is Activity<never, unknown> {
  return (
    typeof value === "object" && value !== null && "kind" in value && value.kind === "activity"
  );
}
