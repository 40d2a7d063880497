// Calls: what the code asks of its run. One function a kind of command; each returns a task at once.
//   J1. Arguments are checked and encoded before anything is recorded; a bad one throws at the call.
//   J2. A call in a cancelled scope records nothing and rejects at a boundary of its own (19b).
//   J3. A call of a run that is over waits for ever (U3).

import type { StepContext } from "./activity-context.ts";
import { DurableTask } from "./durable-task.ts";
import type {
  ActivityScheduled,
  ChildScheduled,
  EventSubscribed,
  StepScheduled,
  TimerCreated,
} from "./history-events.ts";
import type { OpenTask } from "./open-task.ts";
import { CancelledError } from "./outcome-errors.ts";
import { replayed } from "./replayed-error.ts";
import { cancelTask } from "./run-cancel.ts";
import { decode } from "./run-delivery.ts";
import { ownChild } from "./run-fork.ts";
import type { Run } from "./run.ts";
import type { Scope } from "./scope.ts";

type Settle = Pick<OpenTask, "resolve" | "reject">;

export function callActivity(run: Run, body: ActivityScheduled): DurableTask<unknown> {
  return call(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    return { kind: "activity", sequence, scope, name: body.name, body: command.body, ...settle };
  });
}

export function callStep(
  run: Run,
  body: StepScheduled,
  fn: (context: StepContext) => unknown,
): DurableTask<unknown> {
  return call(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const state = { failures: 0, dueAt: 0, entered: false };
    return { kind: "step", sequence, scope, name: body.name, body, fn, ...state, ...settle };
  });
}

/** A step whose function is given a transaction. */
export function callTransaction(
  run: Run,
  body: StepScheduled,
  inTransaction: (transaction: unknown) => unknown,
): DurableTask<unknown> {
  return call(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const state = { failures: 0, dueAt: 0, entered: false, inTransaction, fn: () => undefined };
    return { kind: "step", sequence, scope, name: body.name, body, ...state, ...settle };
  });
}

export function callTimer(run: Run, body: TimerCreated): DurableTask<unknown> {
  return call(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    return { kind: "timer", sequence, scope, name: "timer", due: command.body.due, ...settle };
  });
}

export function callChild(run: Run, body: ChildScheduled): DurableTask<unknown> {
  return call(run, (scope, settle) => {
    // The id of ours names the call's own sequence, which is known only now; history's wins in replay.
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const child = ownChild(run, sequence, command.body);
    return { kind: "child", sequence, scope, name: body.name, body: child, ...settle };
  });
}

export function callEvent(run: Run, body: EventSubscribed): DurableTask<unknown> {
  return call(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    const { name, details } = body;
    const wait = { kind: "event" as const, sequence, scope, name, details, ...settle };
    const unread = body.since === "now" ? null : run.mailbox.take(name);
    if (unread === null) {
      run.mailbox.wait(name, wait);
      return wait;
    }
    const value = decode(run, unread.data);
    if (value !== null) settle.resolve(value.decoded);
    return null;
  });
}

/** `begin` records the call and says what is open now; null: nothing is. */
function call(
  run: Run,
  begin: (scope: Scope, settle: Settle) => OpenTask | null,
): DurableTask<unknown> {
  const scope = run.enter();
  let opened: OpenTask | null = null;
  let settle: Settle | undefined;
  const task = new DurableTask<unknown>(
    (resolve, reject) => {
      settle = { resolve, reject: (reason) => DurableTask.rejectQuietly(task, reject, reason) };
    },
    (reason) => {
      if (opened === null) return;
      run.enter();
      cancelTask(run, opened, reason);
    },
  );
  if (settle === undefined) throw new Error("A promise ran its executor late.");
  const refused = scope.cancelledBecause();
  if (refused !== null) {
    const { reject } = settle;
    if (!run.isOver) run.rejectLater(() => reject(replayed(new CancelledError(refused))));
    return task;
  }
  opened = begin(scope, settle);
  if (opened !== null) run.open.set(opened.sequence, opened);
  return task;
}
