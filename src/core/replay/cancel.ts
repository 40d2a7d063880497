// Cancellation of open tasks: of one task, a scope, the whole instance, or all remaining tasks at the end.
//   - cancel.1: Every cancel of a recorded task is a separate command, in schedule order (semantics 3, 7,
//       19).
//   - cancel.2: A child with `onParentClose: "abandon"` continues without a cancel command when its parent
//       ends, its scope is cancelled or its race is lost. Only cancelling its own task cancels it.
//   - A cancelled task is no longer open. Its late outcome is dropped without an event (semantics 12).

import { PerdureError } from "../errors/errors.ts";
import { terminated } from "../errors/built-in-failures.ts";
import type { CommandBody } from "../history/events.ts";
import type { OpenTask } from "./open-task.ts";
import { CancelledError } from "../errors/outcome-errors.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import { withdrawDeadline } from "./deadline-alarm.ts";
import type { Run } from "./run.ts";
import type { Scope } from "./scope.ts";

/** The command that a cancel records; null if it records none. */
type Command = (task: OpenTask, reason: string) => CommandBody | null;

/** Cancels one open task explicitly and rejects its await. */
export function cancelTask(run: Run, task: OpenTask, reason: string): void {
  cancelBy(run, task, reason, cancelCommand);
}

/** Like `cancelTask`, for a task that is cancelled because its scope, race or parent is (cancel.2). */
function cancelWithContext(run: Run, task: OpenTask, reason: string): void {
  cancelBy(run, task, reason, contextCommand);
}

function cancelBy(run: Run, task: OpenTask, reason: string, commandOf: Command): void {
  if (!run.openTasks.has(task.sequence) || run.isOver) return;
  if (run.cancelling !== null) {
    if (!run.cancelling.has(task)) run.cancelling.set(task, reason);
    return;
  }
  close(run, task, reason, commandOf);
  task.reject(withoutEngineStack(new CancelledError(reason)));
}

/** Cancels the tasks that `cancelEach` cancels, in schedule order instead of its own order (cancel.1). */
export function cancelTogether(run: Run, cancelEach: () => void): void {
  if (run.cancelling !== null) return cancelEach();
  const collected = new Map<OpenTask, string>();
  run.cancelling = collected;
  try {
    cancelEach();
  } finally {
    run.cancelling = null;
  }
  const inOrder = [...collected].sort(([a], [b]) => a.sequence - b.sequence);
  for (const [task, reason] of inOrder) cancelWithContext(run, task, reason);
}

/** Cancels the open tasks of these scopes. Later calls in the scopes reject. */
export function cancelScopes(run: Run, scopes: readonly Scope[], reason: string): void {
  if (run.isOver) return;
  for (const scope of scopes) scope.cancel(reason);
  cancelWhere(run, (task) => scopes.some((scope) => task.scope.isWithin(scope)), reason);
}

/** Cancels the instance: every open await outside a shield rejects, in schedule order, in one drain. */
export function cancelInstance(run: Run, reason: string): void {
  run.cancelReason = reason;
  run.stillVisible.push(run.deliveredSequence);
  run.root.cancel(reason);
  cancelWhere(run, (task) => task.scope.isWithin(run.root), reason);
}

/** Cancels the tasks that are still open when the code has ended. No await receives their outcomes. */
export function cancelOpenTasks(run: Run, reason: string): void {
  const unawaited: string[] = [];
  for (const task of [...run.openTasks.values()]) {
    if (task.kind === "activity" || task.kind === "step" || isCancelledChild(task)) {
      unawaited.push(`${task.kind} "${task.name}" (event ${task.sequence})`);
    }
    close(run, task, reason, contextCommand);
  }
  if (unawaited.length === 0 || run.isReplaying) return;
  run.logs.push({
    level: "warn",
    message: `The orchestration ended without awaiting these tasks, which are cancelled: ${unawaited.join(", ")}.`,
    fields: {},
  });
}

/** Ends an execution that continues to make calls after it was cancelled, or blocks one whose scope was. */
export function stopIgnoredCancel(run: Run, callsMax: number): void {
  if (run.cancelReason === null) {
    const message = `A cancelled scope made more than ${callsMax} calls after it was cancelled.`;
    return run.block({ code: "LIMIT_EXCEEDED", message });
  }
  cancelOpenTasks(run, "ignored its cancellation");
  run.end(
    terminated(`the orchestration ignored its cancellation and made more than ${callsMax} calls`),
  );
}

/**
 * How many compensations the running compensations may register. A compensation that registers itself would
 * run forever. The error at the bound is listed with the other compensation failures, and the instance ends
 * (I12).
 */
const NESTED_COMPENSATIONS_MAX = 1_000;

/** Registers a compensation (semantics 19c). */
export function addCompensation(run: Run, fn: () => unknown): void {
  if (run.nestedCompensationsLeft !== null) {
    if (run.nestedCompensationsLeft === 0) {
      const message =
        `ctx.compensate: compensations registered more than ${NESTED_COMPENSATIONS_MAX} further compensations. ` +
        `A compensation must not register itself again.`;
      throw withoutEngineStack(new PerdureError("LIMIT_EXCEEDED", message));
    }
    run.nestedCompensationsLeft--;
  }
  run.compensations.push(fn);
}

/** Call it before the compensations run. It sets the bound on nested registrations. */
export function beginCompensations(run: Run): void {
  run.nestedCompensationsLeft = NESTED_COMPENSATIONS_MAX;
}

/**
 * Warns that `continueAsNew` drops compensations: they run only if an execution fails or is cancelled (19c).
 */
export function dropCompensations(run: Run): void {
  const { length } = run.compensations;
  if (length === 0 || run.isReplaying) return;
  const message = `${length} compensation${length === 1 ? "" : "s"} dropped: continueAsNew does not run them.`;
  run.logs.push({ level: "warn", message, fields: {} });
}

function cancelWhere(run: Run, isAffected: (task: OpenTask) => boolean, reason: string): void {
  // The map is in schedule order. The loop uses a copy, because a rejection may close further tasks.
  for (const task of [...run.openTasks.values()]) {
    if (isAffected(task)) cancelWithContext(run, task, reason);
  }
}

function close(run: Run, task: OpenTask, reason: string, commandOf: Command): void {
  run.openTasks.delete(task.sequence);
  if (task.kind === "event") run.mailbox.forget(task.name, task);
  if (task.kind === "requests") run.requests.close(task.service);
  if (task.kind === "send") return; // its message is sent in any case
  const body = commandOf(task, reason);
  if (body === null) run.stillVisible.push(task.sequence); // the history has no end of this call
  const command = body === null ? null : run.command(body);
  if (command?.isNew !== true) return;
  if (task.kind === "activity") withdrawDeadline(run, task);
  if (task.kind === "event" && task.callback !== undefined) {
    run.effects.changeCallback(task.callback.requestId, "closed");
  }
  if (task.kind === "step" && task.failures > 0) {
    run.effects.cancelTimer("stepRetry", task.sequence);
  }
  if (task.kind === "child") {
    run.effects.cancelChild({ sequence: task.sequence, id: task.body.id, reason });
  }
  if (task.kind === "ask") {
    run.effects.cancelAsk(command.sequence, task.sequence, task.body, run);
  }
}

function contextCommand(task: OpenTask, reason: string): CommandBody | null {
  return task.kind === "child" && !isCancelledChild(task) ? null : cancelCommand(task, reason);
}

function cancelCommand(task: OpenTask, reason: string): CommandBody | null {
  const scheduled = task.sequence;
  switch (task.kind) {
    case "activity":
      return { kind: "ActivityCancelRequested", scheduled, reason };
    case "step":
      return { kind: "StepCancelRequested", scheduled, reason };
    case "timer":
      return { kind: "TimerCancelled", scheduled };
    case "event":
      return { kind: "EventSubscriptionCancelled", scheduled };
    case "child":
      return { kind: "ChildCancelRequested", scheduled, reason };
    case "requests":
      return { kind: "RequestsClosed", scheduled };
    case "ask":
      return { kind: "AskCancelled", scheduled };
    case "send":
      return null;
  }
}

function isCancelledChild(task: OpenTask): boolean {
  return task.kind === "child" && task.body.onParentClose !== "abandon";
}
