// Delivery: applies an event to a run.
//   - One event settles at most one await. The code then runs until it waits again (semantics 4).
//   - An outcome of a task that is no longer open has no effect (I6).
//   - A payload that cannot be decoded blocks the run. The code never receives a part of it (semantics 6).
//   - core.delivery.1: A cancel that is recorded right after the start was pending when the execution
//       started. Both are delivered in one drain, the cancel first. Otherwise an execution that continues as
//       new at once would never receive the cancel (19).

import { asyncContext } from "../context/async-context.ts";
import { isErrorCode, isPerdureError, PerdureError } from "../errors/errors.ts";
import { fromFailure, openFailure, type Failure } from "../errors/failure.ts";
import { RequestError } from "../errors/request-error.ts";
import type {
  ActivityFailed,
  AskFailed,
  ChildFailed,
  CommandBody,
  DeliveryBody,
  DetachedStarted,
  EventRaised,
  EventReceived,
  HistoryEvent,
  OrchestrationCancelRequested,
  OrchestrationStarted,
  SendFailed,
  StepFailed,
} from "../history/events.ts";
import { sameCommand, sameKindAndName } from "../history/matching.ts";
import type { OpenTask } from "./open-task.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import { cancelInstance } from "./cancel.ts";
import { withdrawDeadline } from "./deadline-alarm.ts";
import { isForgottenAttempt } from "./fork.ts";
import { rememberRefusal, type UnreadMessage } from "./mailbox.ts";
import type { Run } from "./run.ts";
import { ActivityError, ChildError, StepError, type TaskError } from "../errors/task-errors.ts";

/** A cancel that is delivered together with the start (core.delivery.1). */
export type PendingCancel = OrchestrationCancelRequested | null;

export function applyDelivery(run: Run, body: DeliveryBody, cancel: PendingCancel): void {
  switch (body.kind) {
    case "OrchestrationStarted":
      return begin(run, body, cancel);
    case "OrchestrationCancelRequested":
      if (run.cancelReason === null) cancelInstance(run, body.reason);
      return;
    case "ActivityCompleted":
    case "StepCompleted":
    case "ChildCompleted":
    case "AskCompleted":
      return fulfil(run, close(run, body.scheduled, KIND_OF[body.kind]), body.output);
    case "ActivityFailed":
    case "StepFailed":
    case "ChildFailed": {
      const task = close(run, body.scheduled, KIND_OF[body.kind]);
      const error = task === null ? null : taskError(run, task, body);
      if (error !== null) task?.reject(error);
      return;
    }
    case "StepAttemptFailed": {
      const task = openTask(run, body.scheduled, "step");
      if (task?.kind !== "step" || isForgottenAttempt(run)) return;
      task.failures = body.attempt;
      task.failedAt = run.deliveredSequence;
      task.dueAt = body.due;
      task.isRunning = false;
      if (!run.isReplaying) {
        run.effects.addTimer({ kind: "stepRetry", sequence: task.sequence, dueAt: body.due });
      }
      return;
    }
    case "TimerFired":
      close(run, body.scheduled, "timer")?.resolve(undefined);
      return;
    case "EventReceived":
      return receive(run, body);
    case "RequestReceived":
      return run.requests.receive({ ...body, sequence: run.deliveredSequence });
    case "AskFailed": {
      const task = close(run, body.scheduled, "ask");
      const error = task === null ? null : askError(run, task, body);
      if (error !== null) task?.reject(error);
      return;
    }
    case "SendCompleted":
      close(run, body.scheduled, "send")?.resolve(body.existing === true ? "existing" : "started");
      return;
    case "SendFailed":
      return sendFailed(run, body);
  }
}

function askError(run: Run, task: OpenTask, body: AskFailed): PerdureError | null {
  const opened = readable(run, () => {
    const failure = openFailure(body.failure, run.codec);
    return { failure, cause: fromFailure(failure, run.codec) };
  });
  if (opened === null || task.kind !== "ask") return null;
  const { failure, cause } = opened.read;
  const { outcome } = body;
  if (outcome === undefined) return refusedError(failure);
  const { id: instanceId, name: request } = task.body;
  const error = new RequestError({ kind: outcome, instanceId, request, failure, cause });
  return withoutEngineStack(error);
}

/** The error of a message or a start that the store refused. */
function refusedError({ code, message }: Failure): PerdureError {
  const known = code !== undefined && isErrorCode(code) ? code : "INSTANCE_NOT_FOUND";
  return withoutEngineStack(new PerdureError(known, message));
}

/** The runtime logs the failure of a quiet message when it commits the turn (outgoing-calls.2). */
function sendFailed(run: Run, { scheduled, failure }: SendFailed): void {
  const error = refusedError(failure);
  const task = run.openTasks.get(scheduled);
  run.openTasks.delete(scheduled);
  if (task?.kind === "send") task.reject(error);
  else run.quietSends?.set(scheduled, error);
}

/** The call that sent something to another instance, for a log line. */
export function sendName(body: EventRaised | DetachedStarted): string {
  return body.kind === "EventRaised"
    ? `ctx.raise of event "${body.name}" to instance "${body.id}"`
    : `ctx.startDetached of "${body.name}" with id "${body.id}"`;
}

function taskError(
  run: Run,
  task: OpenTask,
  body: ActivityFailed | StepFailed | ChildFailed,
): TaskError | null {
  const opened = readable(run, () => {
    const failure = openFailure(body.failure, run.codec);
    return { failure, cause: fromFailure(failure, run.codec) };
  });
  if (opened === null) return null;
  const init = { attempts: body.kind === "ChildFailed" ? 1 : body.attempts, ...opened.read };
  switch (body.kind) {
    case "ChildFailed":
      return withoutEngineStack(new ChildError(task.name, init));
    case "StepFailed":
      return withoutEngineStack(new StepError(task.name, init));
    case "ActivityFailed":
      return withoutEngineStack(new ActivityError(task.name, init));
  }
}

/** With a cancel, the first call of the code rejects already (core.delivery.1). */
function begin(run: Run, body: OrchestrationStarted, cancel: PendingCancel): void {
  run.started = body;
  run.startedAt = run.eventTime;
  run.state.begin(body);
  if (cancel !== null) cancelInstance(run, cancel.reason);
  const { refused: failure } = body;
  if (failure !== undefined) {
    return run.end({ kind: "OrchestrationFailed", outcome: "failed", failure }); // received.2
  }
  asyncContext.run(run.root, () => {
    // `main` never rejects: every outcome ends the run.
    void run.options.main(run, body);
  });
}

const KIND_OF = {
  ActivityCompleted: "activity",
  ActivityFailed: "activity",
  StepCompleted: "step",
  StepFailed: "step",
  ChildCompleted: "child",
  ChildFailed: "child",
  AskCompleted: "ask",
} as const;

function openTask(run: Run, sequence: number, kind: OpenTask["kind"]): OpenTask | null {
  const task = run.openTasks.get(sequence);
  if (task?.kind === kind) return task;
  // A turn records only outcomes of open tasks, so this history is corrupt.
  if (run.isReplaying) {
    const message = `Event ${run.deliveredSequence} of the history refers to event ${sequence}, which is not an open ${kind}.`;
    run.block({ code: "HISTORY_CORRUPT", message });
  }
  return null;
}

function close(run: Run, sequence: number, kind: OpenTask["kind"]): OpenTask | null {
  const task = openTask(run, sequence, kind);
  if (task === null) return null;
  run.openTasks.delete(sequence);
  if (run.isReplaying) return task;
  if (task.kind === "activity") withdrawDeadline(run, task);
  return task;
}

function fulfil(run: Run, task: OpenTask | null, output: string): void {
  if (task === null) return;
  const value = decode(run, output);
  if (value !== null) task.resolve(value.decoded);
}

function receive(run: Run, body: EventReceived): void {
  const wait = receiverOf(run, body);
  if (wait === null) return;
  run.openTasks.delete(wait.sequence);
  if (body.headers !== undefined && wait.kind === "event") {
    const headers = decode(run, body.headers);
    if (headers === null) return;
    wait.callback?.onHeaders(headers.decoded as Readonly<Record<string, string>>); // a client checked it
  }
  fulfil(run, wait, body.output ?? body.data);
}

/** The wait that the recorded verdict names, or the oldest one. Null: the event stays unread. */
function receiverOf(run: Run, body: EventReceived): OpenTask | null {
  const { name, data, key = null } = body;
  const message: UnreadMessage = { name, data, key, sequence: run.deliveredSequence };
  if (body.refused !== undefined) {
    message.isRefused = true;
    run.mailbox.keep(message);
    if (run.isReplaying) return null;
    for (const { schema } of run.mailbox.waits(name)) {
      if (schema !== undefined) rememberRefusal(schema, message);
    }
    return null;
  }
  if (body.wait === undefined) return run.mailbox.offer(message);
  const wait = openTask(run, body.wait, "event");
  if (wait?.kind === "event") run.mailbox.forget(name, wait);
  return wait;
}

/** The decoded value; null if it could not be decoded and the run is blocked. */
export function decode(run: Run, text: string): { decoded: unknown } | null {
  const value = readable(run, () => run.codec.decode(text));
  return value === null ? null : { decoded: value.read };
}

/**
 * For synchronous calls that read the instance's own state. If the text cannot be decoded, the run is blocked
 * and the call throws. Nothing that the code does after that is recorded.
 */
export function decodeNow(run: Run, text: string): unknown {
  const value = decode(run, text);
  if (value === null) throw new PerdureError("HISTORY_CORRUPT", "A stored value cannot be read.");
  return value.decoded;
}

function readable<T>(run: Run, read: () => T): { read: T } | null {
  try {
    return { read: read() };
  } catch (error) {
    blockUnreadable(run, error);
    return null;
  }
}

export function blockUnreadable(run: Run, error: unknown): void {
  const why = isPerdureError(error) ? error.message : String(error);
  run.block({
    code: isPerdureError(error, "KEY_MISSING") ? "KEY_MISSING" : "HISTORY_CORRUPT",
    message: `A value in the history cannot be read: ${why}`,
  });
}

/**
 * Whether the next recorded event matches the command that the code issued. For events that a fork copied,
 * less is compared (semantics 21a). A recorded value that cannot be read blocks the run with that reason, not
 * as a divergence: a deploy of other code would not help.
 */
export function isRecordedAs(run: Run, recorded: HistoryEvent, asked: CommandBody): boolean {
  const { copiedUntil = 0 } = run.options;
  if (recorded.sequence <= copiedUntil) return sameKindAndName(recorded, asked);
  return readable(run, () => sameCommand(recorded, asked, run.codec))?.read ?? false;
}
