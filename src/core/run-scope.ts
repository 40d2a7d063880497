// Running a function as a scope or behind a shield.

import { asyncContext } from "./async-context.ts";
import { DurableTask } from "./durable-task.ts";
import { checkFunction } from "./known-members.ts";
import { cancelScopes } from "./run-cancel.ts";
import type { Run } from "./run.ts";
import { Scope } from "./scope.ts";

/** A block that is cancelled as one. Its task settles when the function does, clean-up included. */
export function runScope<T>(run: Run, fn: () => T | Promise<T>): DurableTask<T> {
  checkFunction(fn, "ctx.scope");
  const scope = new Scope({ run, parent: run.enter() });
  const running = invoke(scope, fn);
  let over = false;
  const settled = (): void => {
    over = true;
  };
  running.then(settled, settled);
  return DurableTask.over(running, (reason) => {
    run.enter();
    if (!over) cancelScopes(run, [scope], reason);
  });
}

/** A block that no cancellation from outside reaches. */
export function runShield<T>(run: Run, fn: () => T | Promise<T>): Promise<T> {
  checkFunction(fn, "ctx.shield");
  return invoke(new Scope({ run, parent: run.enter(), shielded: true }), fn);
}

function invoke<T>(scope: Scope, fn: () => T | Promise<T>): Promise<T> {
  return asyncContext.run(scope, async () => fn());
}
