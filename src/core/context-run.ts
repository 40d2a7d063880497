// Which run a context object belongs to: for interpreters of our own, which ask for more than users may.

import type { OrchestrationContext } from "./context-types.ts";
import type { Run } from "./run.ts";

const runs = new WeakMap<object, Run>();

export function bindRun(context: object, run: Run): void {
  runs.set(context, run);
}

export function runOf(context: OrchestrationContext): Run {
  const run = runs.get(context);
  if (run !== undefined) return run;
  throw new Error("This context was not made by the engine.");
}
