// Combinators: all, allSettled, any, race over tasks and functions, with durable cancellation of losers.
//   O1. A function runs as a scope of its own; a task keeps the scope it was called in.
//   O2. Branches are looked at in argument order, so that ties go to the first (semantics 7a).
//   O3. Losers are cancelled in schedule order, in the drain in which they lost.

import { DurableTask, isTask } from "./durable-task.ts";
import { PerdureError } from "./errors.ts";
import { cancelTogether } from "./run-cancel.ts";
import { runScope } from "./run-scope.ts";
import type { Run } from "./run.ts";

type Members = readonly Promise<unknown>[];

export function joinAll(run: Run, branches: readonly unknown[]): DurableTask<unknown[]> {
  const members = begin(run, branches, "all", false);
  const joined = Promise.all(members);
  // The handler is there before anybody else's, so that losers are cancelled before the failure is seen.
  const settled = joined.catch((error: unknown) => {
    cancelMembers(run, members, "a sibling failed");
    throw error;
  });
  return DurableTask.over(settled, (reason) => cancelMembers(run, members, reason));
}

export function joinAllSettled(
  run: Run,
  branches: readonly unknown[],
): DurableTask<PromiseSettledResult<unknown>[]> {
  const members = begin(run, branches, "allSettled", false);
  return DurableTask.over(Promise.allSettled(members), (reason) =>
    cancelMembers(run, members, reason),
  );
}

export function firstSuccess(run: Run, branches: readonly unknown[]): DurableTask<unknown> {
  const members = begin(run, branches, "any", true);
  const won = Promise.any(members).then((value) => {
    cancelMembers(run, members, "lost to another branch");
    return value;
  });
  return DurableTask.over(won, (reason) => cancelMembers(run, members, reason));
}

export function firstOutcome(
  run: Run,
  branches: readonly unknown[],
): DurableTask<{ index: number; value: unknown }> {
  const members = begin(run, branches, "race", true);
  const tagged = members.map((member, index) => member.then((value) => ({ index, value })));
  const won = Promise.race(tagged).finally(() => cancelMembers(run, members, "lost a race"));
  for (const entry of tagged) entry.catch(() => undefined);
  return DurableTask.over(won, (reason) => cancelMembers(run, members, reason));
}

function begin(run: Run, branches: unknown, what: string, mustCancel: boolean): Members {
  run.enter();
  if (!Array.isArray(branches)) {
    throw new PerdureError("INVALID_ARGUMENT", `ctx.${what} takes a list of tasks or functions.`);
  }
  if (branches.length === 0 && mustCancel) {
    throw new PerdureError("INVALID_ARGUMENT", `ctx.${what} of nothing would never settle.`);
  }
  // Checked whole before the first function runs: a mistake in the last branch starts none of the others.
  for (const branch of branches as readonly unknown[]) check(branch, what, mustCancel);
  return (branches as readonly unknown[]).map((branch) => {
    if (typeof branch === "function") return runScope(run, branch as () => unknown);
    return branch instanceof Promise ? branch : Promise.resolve(branch);
  });
}

function check(branch: unknown, what: string, mustCancel: boolean): void {
  if (typeof branch === "function" || isTask(branch)) return;
  if (!mustCancel) return;
  const message =
    `ctx.${what} takes tasks or functions: a plain promise could not be cancelled. ` +
    `Pass () => … instead.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** A settled member ignores it (O3). */
function cancelMembers(run: Run, members: Members, reason: string): void {
  cancelTogether(run, () => {
    for (const member of members) if (isTask(member)) member.cancel(reason);
  });
}
