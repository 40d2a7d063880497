// Cancelling what a run has open: one task, a scope, the whole instance, or what is left at the end.
//   Y1. Every cancel of a recorded task is a command of its own, in schedule order (semantics 3, 7, 19).
//   Y2. A child that is to be abandoned is let go without a command, and lives on, whatever takes its siblings along:
//       its parent's end, a scope's, a race. Only a cancel of its own task reaches it.
//   Y3. What is cancelled is no longer open: its late outcome is dropped without an event (semantics 12).

import { PerdureError } from "./errors.ts";
import { ended } from "./endings.ts";
import type { CommandBody } from "./history-events.ts";
import type { OpenTask } from "./open-task.ts";
import { CancelledError } from "./outcome-errors.ts";
import { replayed } from "./replayed-error.ts";
import type { Run } from "./run.ts";
import type { Scope } from "./scope.ts";

/** What is recorded of a cancel; null: nothing. */
type Command = (task: OpenTask, reason: string) => CommandBody | null;

/** Cancels one open task, which was named, and rejects its await. */
export function cancelTask(run: Run, task: OpenTask, reason: string): void {
  cancelBy(run, task, reason, cancelCommand);
}

/** As `cancelTask`, for what is cancelled because something around it is (Y2). */
function takeAlong(run: Run, task: OpenTask, reason: string): void {
  cancelBy(run, task, reason, alongCommand);
}

function cancelBy(run: Run, task: OpenTask, reason: string, commandOf: Command): void {
  if (!run.open.has(task.sequence) || run.isOver) return;
  if (run.cancelling !== null) {
    if (!run.cancelling.has(task)) run.cancelling.set(task, reason);
    return;
  }
  close(run, task, reason, commandOf);
  task.reject(replayed(new CancelledError(reason)));
}

/** Cancels everything that `name` cancels, in schedule order, whatever order it names them in (Y1). */
export function cancelTogether(run: Run, name: () => void): void {
  if (run.cancelling !== null) return name();
  const named = new Map<OpenTask, string>();
  run.cancelling = named;
  try {
    name();
  } finally {
    run.cancelling = null;
  }
  const inOrder = [...named].sort(([a], [b]) => a.sequence - b.sequence);
  for (const [task, reason] of inOrder) takeAlong(run, task, reason);
}

/** Cancels what is open in these scopes, and refuses later calls in them. */
export function cancelScopes(run: Run, scopes: readonly Scope[], reason: string): void {
  if (run.isOver) return;
  for (const scope of scopes) scope.cancel(reason);
  cancelWhere(run, (task) => scopes.some((scope) => task.scope.isWithin(scope)), reason);
}

/** The instance is cancelled: every open await outside a shield rejects, in schedule order, in one drain. */
export function cancelInstance(run: Run, reason: string): void {
  run.cancelReason = reason;
  run.root.cancel(reason);
  cancelWhere(run, (task) => task.scope.isWithin(run.root), reason);
}

/** The code has ended: what is still open is cancelled; nobody waits for it. */
export function cancelLeftovers(run: Run, reason: string): void {
  const forgotten: string[] = [];
  for (const task of [...run.open.values()]) {
    if (task.kind === "activity" || task.kind === "step" || isCancelledChild(task)) {
      forgotten.push(`${task.kind} "${task.name}" (event ${task.sequence})`);
    }
    close(run, task, reason, alongCommand);
  }
  if (forgotten.length === 0 || run.isReplaying) return;
  run.logs.push({
    level: "warn",
    message: `Cancelled at the end because nobody waited for it: ${forgotten.join(", ")}.`,
    fields: {},
  });
}

/** It was cancelled, and goes on calling as if it had not been. */
export function endIgnorant(run: Run, callsMax: number): void {
  cancelLeftovers(run, "ignored its cancellation");
  run.end(
    ended("terminated", `It ignored its cancellation: more than ${callsMax} calls after it.`),
  );
}

/**
 * Compensations that are deferred by a running compensation. A compensation that defers itself would run forever; the
 * error at the bound is listed with the other compensation failures, and the instance ends (I12).
 */
const NESTED_DEFERS_MAX = 1_000;

/** Registers a compensation (semantics 19c). */
export function deferCompensation(run: Run, fn: () => unknown): void {
  if (run.defersLeft !== null) {
    if (run.defersLeft === 0) {
      const message =
        `ctx.defer: compensations deferred more than ${NESTED_DEFERS_MAX} further compensations. ` +
        `A compensation must not defer itself.`;
      throw replayed(new PerdureError("LIMIT_EXCEEDED", message));
    }
    run.defersLeft--;
  }
  run.deferred.push(fn);
}

/** From here on the compensations run. */
export function beginCompensations(run: Run): void {
  run.defersLeft = NESTED_DEFERS_MAX;
}

/** Compensations undo an execution that failed; one that continues as new leaves them behind (19c). */
export function dropDeferred(run: Run): void {
  const { length } = run.deferred;
  if (length === 0 || run.isReplaying) return;
  const message = `${length} deferred compensation${length === 1 ? "" : "s"} dropped: continueAsNew does not run them.`;
  run.logs.push({ level: "warn", message, fields: {} });
}

function cancelWhere(run: Run, isMeant: (task: OpenTask) => boolean, reason: string): void {
  // The map is in schedule order; a copy, because rejecting may close more.
  for (const task of [...run.open.values()]) {
    if (isMeant(task)) takeAlong(run, task, reason);
  }
}

function close(run: Run, task: OpenTask, reason: string, commandOf: Command): void {
  run.open.delete(task.sequence);
  if (task.kind === "event") run.mailbox.forget(task.name, task);
  const body = commandOf(task, reason);
  const command = body === null ? null : run.command(body);
  if (command?.isNew !== true) return;
  if (task.kind === "activity" && task.body.scheduleToCloseMs !== undefined) {
    run.effects.cancelTimer("deadline", task.sequence);
  }
  if (task.kind === "step" && task.failures > 0) {
    run.effects.cancelTimer("stepRetry", task.sequence);
  }
  if (task.kind === "child") {
    run.effects.cancelChild({ sequence: task.sequence, id: task.body.id, reason });
  }
}

function alongCommand(task: OpenTask, reason: string): CommandBody | null {
  return task.kind === "child" && !isCancelledChild(task) ? null : cancelCommand(task, reason);
}

function cancelCommand(task: OpenTask, reason: string): CommandBody {
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
  }
}

function isCancelledChild(task: OpenTask): boolean {
  return task.kind === "child" && task.body.onParentClose !== "abandon";
}
