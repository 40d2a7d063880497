// The async context of orchestrations, steps and activities, and the current drain.
//   - async-context.1: `drain.run` is set during the macrotask, with its microtasks, in which an event is
//       delivered to that run. Calls on the context of another run, or outside a drain, throw.
//   - async-context.2: Orchestration code runs in the async context of its scope, so that a call in a helper
//       function, after any number of awaits, belongs to the scope that surrounds it in the code.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Scope } from "../replay/scope.ts";

export interface WorkFrame {
  readonly kind: "step" | "activity";
  readonly name: string;
  readonly instanceId: string;
}
/** The `validate` function of `ctx.serve`. */
export interface ValidationFrame {
  readonly kind: "validation of request";
  readonly name: string;
  readonly instanceId: string;
}
export type Frame = Scope | WorkFrame | ValidationFrame;

export const asyncContext = new AsyncLocalStorage<Frame | undefined>();

/** Runs engine code outside of every user context. */
export function inRootContext<T>(fn: () => T): T {
  return asyncContext.run(undefined, fn);
}

export const drain: { run: object | null } = { run: null };
