// Combinators: all, allSettled, any and race over tasks and functions. They cancel losers durably.
//   - A function runs as a separate scope. A task keeps the scope of its call.
//   - Branches are checked in argument order, so that the first of two settled branches wins (semantics 7a).
//   - combinators.1: Losers are cancelled in schedule order, in the drain in which they lost.

import { timerBody } from "./call-bodies.ts";
import { DurableTask, isTask } from "./durable-task.ts";
import { invalidArgument } from "../checks.ts";
import { showValue } from "../ids/ids.ts";
import { callTimer } from "../replay/calls.ts";
import { cancelTogether } from "../replay/cancel.ts";
import { runScope } from "../replay/run-scope.ts";
import type { Run } from "../replay/run.ts";
import type { Task } from "./types.ts";

type Members = readonly Promise<unknown>[];

export function joinAll(run: Run, branches: readonly unknown[]): DurableTask<unknown[]> {
  const members = begin(run, branches, "all", false);
  const joined = Promise.all(members);
  // This handler is attached first, so that losers are cancelled before the code sees the failure.
  const settled = joined.catch((error: unknown) => {
    cancelMembers(run, members, "a sibling failed");
    throw error;
  });
  return DurableTask.fromPromise(settled, (reason) => cancelMembers(run, members, reason));
}

export function joinAllSettled(
  run: Run,
  branches: readonly unknown[],
): DurableTask<PromiseSettledResult<unknown>[]> {
  const members = begin(run, branches, "allSettled", false);
  return DurableTask.fromPromise(Promise.allSettled(members), (reason) =>
    cancelMembers(run, members, reason),
  );
}

export function firstSuccess(run: Run, branches: readonly unknown[]): DurableTask<unknown> {
  const members = begin(run, branches, "any", true);
  const won = Promise.any(members).then((value) => {
    cancelMembers(run, members, "lost to another branch");
    return value;
  });
  return DurableTask.fromPromise(won, (reason) => cancelMembers(run, members, reason));
}

export function firstOutcome(
  run: Run,
  branches: readonly unknown[],
): DurableTask<{ index: number; value: unknown }> {
  const members = begin(run, branches, "race", true);
  const tagged = members.map((member, index) => member.then((value) => ({ index, value })));
  const won = Promise.race(tagged).finally(() => cancelMembers(run, members, "lost a race"));
  for (const entry of tagged) entry.catch(() => undefined);
  return DurableTask.fromPromise(won, (reason) => cancelMembers(run, members, reason));
}

function begin(run: Run, branches: unknown, what: string, mustCancel: boolean): Members {
  run.currentScope();
  if (!Array.isArray(branches)) {
    const got = showValue(branches);
    throw invalidArgument(`ctx.${what} must be given a list of tasks or functions; got ${got}.`);
  }
  if (branches.length === 0 && mustCancel) {
    throw invalidArgument(
      `ctx.${what} must be given at least one branch; without one it would never settle.`,
    );
  }
  // All branches are checked before the first function runs, so that a mistake in the last branch starts
  // nothing.
  for (const branch of branches as readonly unknown[]) check(branch, what, mustCancel);
  return (branches as readonly unknown[]).map((branch) => {
    if (typeof branch === "function") return runScope(run, branch as () => unknown);
    return branch instanceof Promise ? branch : Promise.resolve(branch);
  });
}

function check(branch: unknown, what: string, mustCancel: boolean): void {
  if (typeof branch === "function" || isTask(branch)) return;
  if (!mustCancel) return;
  throw invalidArgument(
    `The branches of ctx.${what} must be tasks or functions: a plain promise cannot be cancelled. ` +
      `Pass () => … instead.`,
  );
}

/** Cancels the members (combinators.1). A cancel of a settled member has no effect. */
function cancelMembers(run: Run, members: Members, reason: string): void {
  cancelTogether(run, () => {
    for (const member of members) if (isTask(member)) member.cancel(reason);
  });
}

/**
 * A race between the wait and a timer. The loser is cancelled, and the event stays unread if it comes later.
 */
export function orNull(run: Run, wait: Task<unknown>, timeoutMs: number): Task<unknown> {
  const timer = callTimer(run, timerBody(run, timeoutMs));
  return firstOutcome(run, [wait, timer]).map(({ index, value }) => (index === 0 ? value : null));
}
