// The run of a context object. The interpreter of flows uses it for calls that the public context does not
// have.

import type { OrchestrationContext } from "./types.ts";
import type { Run } from "../replay/run.ts";

const runs = new WeakMap<object, Run>();

export function bindRun(context: object, run: Run): void {
  runs.set(context, run);
}

export function runOf(context: OrchestrationContext): Run {
  const run = runs.get(context);
  if (run !== undefined) return run;
  throw new Error("The engine did not create this context.");
}
