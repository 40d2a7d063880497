// Open tasks: what an execution has asked for and has no outcome of yet.

import type { StepContext } from "./activity-context.ts";
import type { ActivityScheduled, ChildScheduled, StepScheduled } from "./history-events.ts";
import type { Scope } from "./scope.ts";

interface OpenBase {
  readonly sequence: number;
  readonly scope: Scope;
  readonly name: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}
export interface OpenActivity extends OpenBase {
  readonly kind: "activity";
  readonly body: ActivityScheduled;
}
export interface OpenTimer extends OpenBase {
  readonly kind: "timer";
  readonly due: number;
}
export interface OpenWait extends OpenBase {
  readonly kind: "event";
  readonly details: string | undefined;
}
export interface OpenChild extends OpenBase {
  readonly kind: "child";
  readonly body: ChildScheduled;
}
export interface OpenStep extends OpenBase {
  readonly kind: "step";
  readonly body: StepScheduled;
  readonly fn: (context: StepContext) => unknown;
  /** Set for `ctx.tx`, in place of `fn`. */
  readonly inTransaction?: (transaction: unknown) => unknown;
  /** Failed attempts so far. */
  failures: number;
  /** When the next attempt may be entered, by the store's clock. */
  dueAt: number;
  /** Whether an attempt is under way in this process. */
  entered: boolean;
}
export type OpenTask = OpenActivity | OpenTimer | OpenWait | OpenChild | OpenStep;
