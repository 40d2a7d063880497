// Runs a function as a scope or behind a shield.

import { asyncContext } from "../context/async-context.ts";
import { DurableTask } from "../context/durable-task.ts";
import { checkFunction } from "../checks.ts";
import { cancelScopes } from "./cancel.ts";
import type { Run } from "./run.ts";
import { Scope } from "./scope.ts";

/**
 * Runs a block that can be cancelled as a whole. Its task settles when the function has settled, including
 * cleanup.
 */
export function runScope<T>(run: Run, fn: () => T | Promise<T>): DurableTask<T> {
  checkFunction(fn, "ctx.scope");
  const scope = new Scope({ run, parent: run.currentScope() });
  const running = invoke(scope, fn);
  let over = false;
  const settled = (): void => {
    over = true;
  };
  running.then(settled, settled);
  return DurableTask.fromPromise(running, (reason) => {
    run.currentScope();
    if (!over) cancelScopes(run, [scope], reason);
  });
}

/** Runs a block that a cancellation from outside does not affect. */
export function runShield<T>(run: Run, fn: () => T | Promise<T>): Promise<T> {
  checkFunction(fn, "ctx.shield");
  return invoke(new Scope({ run, parent: run.currentScope(), shielded: true }), fn);
}

function invoke<T>(scope: Scope, fn: () => T | Promise<T>): Promise<T> {
  return asyncContext.run(scope, async () => fn());
}
