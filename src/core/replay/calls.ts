// Calls: record a command of the code and return a task for its outcome. One function per kind of command.
//   - core.calls.1: Arguments are checked and encoded before anything is recorded. A wrong argument throws at
//       the call.
//   - A call in a cancelled scope records nothing. Its task rejects in a separate drain (semantics 19b).
//   - After the run has ended or is blocked, the task of a call never settles (core.run.1).

import type { StepContext } from "../context/activity-context.ts";
import { DurableTask } from "../context/durable-task.ts";
import type {
  ActivityScheduled,
  ChildScheduled,
  EventSubscribed,
  StepScheduled,
  TimerCreated,
} from "../history/events.ts";
import type { OpenTask } from "./open-task.ts";
import { CancelledError } from "../errors/outcome-errors.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import { cancelTask } from "./cancel.ts";
import { decode } from "./delivery.ts";
import { childOfFork } from "./fork.ts";
import { checkUnread, takeUnread } from "./received.ts";
import type { Run } from "./run.ts";
import type { Scope } from "./scope.ts";
import type { StandardSchema } from "../values/standard-schema.ts";

export type Settle = Pick<OpenTask, "resolve" | "reject">;

export function callActivity(run: Run, body: ActivityScheduled): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence, body: recorded } = command;
    const deadline = run.deadlineAlarm.deadlineOf(run, sequence, recorded);
    return {
      kind: "activity",
      sequence,
      scope,
      name: body.name,
      body: recorded,
      deadline,
      ...settle,
    };
  });
}

export function callStep(
  run: Run,
  body: StepScheduled,
  fn: (context: StepContext) => unknown,
): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const state = { failures: 0, failedAt: 0, dueAt: 0, isRunning: false };
    return { kind: "step", sequence, scope, name: body.name, body, fn, ...state, ...settle };
  });
}

/** A step whose function receives a transaction. */
export function callTransaction(
  run: Run,
  body: StepScheduled,
  inTransaction: (transaction: unknown) => unknown,
): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const state = {
      failures: 0,
      failedAt: 0,
      dueAt: 0,
      isRunning: false,
      inTransaction,
      fn: () => undefined,
    };
    return { kind: "step", sequence, scope, name: body.name, body, ...state, ...settle };
  });
}

export function callTimer(run: Run, body: TimerCreated): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    return { kind: "timer", sequence, scope, name: "timer", due: command.body.due, ...settle };
  });
}

export function callChild(run: Run, body: ChildScheduled): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    // In a replay the recorded body, with its id, replaces the one that the call made.
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const child = childOfFork(run, sequence, command.body);
    return { kind: "child", sequence, scope, name: body.name, body: child, ...settle };
  });
}

/** `schema`: checks the events that the wait may receive. */
export function callEvent(
  run: Run,
  body: EventSubscribed,
  schema?: StandardSchema,
): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(checkUnread(run, body, schema));
    if (command === null) return null;
    const { sequence, body: recorded } = command;
    const { name, details } = body;
    const wait = { kind: "event" as const, sequence, scope, name, details, schema, ...settle };
    const unread = takeUnread(run, recorded);
    if (unread === null) {
      run.mailbox.wait(name, wait);
      return wait;
    }
    const value = decode(run, recorded.output ?? unread.data);
    if (value !== null) settle.resolve(value.decoded);
    return null;
  });
}

/** `begin` records the call and returns the open task; null if there is none to wait for. */
export function openCall(
  run: Run,
  begin: (scope: Scope, settle: Settle) => OpenTask | null,
): DurableTask<unknown> {
  const scope = run.currentScope();
  let opened: OpenTask | null = null;
  let settle: Settle | undefined;
  const task = new DurableTask<unknown>(
    (resolve, reject) => {
      settle = { resolve, reject: (reason) => DurableTask.rejectQuietly(task, reject, reason) };
    },
    (reason) => {
      if (opened === null) return;
      run.currentScope();
      cancelTask(run, opened, reason);
    },
  );
  if (settle === undefined) throw new Error("A promise ran its executor late.");
  const refused = scope.cancelReason();
  if (refused !== null) {
    const { reject } = settle;
    if (!run.isOver) run.rejectLater(() => reject(withoutEngineStack(new CancelledError(refused))));
    return task;
  }
  opened = begin(scope, settle);
  if (opened !== null) run.openTasks.add(opened);
  return task;
}
