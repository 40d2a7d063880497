// Whose code is running: the async context of orchestrations, steps and activities, and the drain in progress.
//   A1. `drain.run` is set for exactly the macrotask (and its microtasks) in which an event was delivered to
//       that run; context methods of any other run, or outside a drain, are refused.
//   A2. Orchestration code runs in the async context of its scope, so that a call inside a helper function,
//       after any number of awaits, still belongs to the block it was written in.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Scope } from "./scope.ts";

export interface WorkFrame {
  readonly kind: "step" | "activity";
  readonly name: string;
  readonly instanceId: string;
}
export type Frame = Scope | WorkFrame;

export const asyncContext = new AsyncLocalStorage<Frame | undefined>();

/** Runs engine code outside every user's context. */
export function inRootContext<T>(fn: () => T): T {
  return asyncContext.run(undefined, fn);
}

export const drain: { run: object | null } = { run: null };
