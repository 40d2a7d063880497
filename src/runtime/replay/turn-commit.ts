// Builds the commit item of a finished turn.
//   - The item is derived from the turn's events, so hot and cold turns commit the same (I5). Only
//     pre-leases and the release depend on this runtime.
//   - A turn that ends the execution starts none of its own activities or children. Its detached starts
//     and messages are carried out (semantics 7, 21).

import { isCheckpointDue, type Checkpoint } from "../../core/history/checkpoint.ts";
import { childOutcome, nextStart } from "../../core/replay/execution-end.ts";
import { encodeRow, type HistoryRow } from "../../core/history/rows.ts";
import { isCallbackMessage } from "../../core/ids/callback-messages.ts";
import { keyExecution } from "../../core/replay/fork.ts";
import { newTask } from "../../core/replay/new-task.ts";
import { defined } from "../../core/values/defined.ts";
import { leavesEventsInInbox } from "../../core/replay/inbox-delivery.ts";
import { sealRow } from "../../core/history/seal.ts";
import type {
  ActivityScheduled,
  EventBody,
  OrchestrationCancelRequested,
} from "../../core/history/events.ts";
import type { InstanceChange, StepOutcomeItem, TurnItem } from "../../core/provider/commit.ts";
import type { NewTimer, OutgoingMessage } from "../../core/provider/messages.ts";
import type { NewTask, TaskClaim } from "../../core/provider/tasks.ts";
import type { Run } from "../../core/replay/run.ts";
import { REPLAY_VERSION } from "../../core/history/replay-version.ts";
import {
  stateChangeOf,
  type ScheduledActivity,
  type TurnEffects,
} from "../../core/replay/effects.ts";
import type { HeldInstance, LocalOutcome } from "../instances/held-instance.ts";
import type { FinishedTurn } from "./turn-job.ts";

/** The number of messages that come with a lease, and the number fetched for a held instance. */
export const MESSAGES_MIN = 32;
const MESSAGES_MAX = 1_000;

export interface TurnCommitOptions {
  readonly commitId: number;
  readonly cancelTimeoutMs: number;
  readonly leaseFor: (task: ScheduledActivity) => NewTask["lease"];
  /** The weight of the call's key; undefined: its queue is not fair. */
  readonly weightOf: (call: ActivityScheduled) => number | undefined;
  readonly release: boolean;
}

export function turnItem(
  turn: FinishedTurn,
  events: readonly EventBody[],
  effects: TurnEffects,
  options: TurnCommitOptions,
): TurnItem {
  const { held, run } = turn;
  const cancelled = cancelRequestOf(held, events);
  const item: Writable<TurnItem> = {
    kind: "turn",
    commitId: options.commitId,
    key: held.key,
    execution: held.execution,
    token: held.token,
    lastEvent: held.lastEvent,
    version: held.lastEvent === 0 && events.length > 0 ? held.definition.version : null,
    replayVersion: REPLAY_VERSION,
    row: events.length === 0 ? null : rowOf(turn, events),
    consumed: turn.consumed,
    finished: finishedTasks(turn),
    tasks: newTasks(run, effects, options),
    cancelledTasks: effects.cancelledTasks,
    timers: timersOf(run, effects, cancelled, options),
    cancelledTimers: effects.cancelledTimers,
    starts: [...effects.starts.values()],
    sends: [...effects.sends, ...parentMessages(run)],
    change: changeOf(run, held.definition.keepMs),
    state: stateChangeOf(events, run.state.attributes, effects.published),
    cancelRequested: cancelled === null ? null : JSON.stringify(cancelled.event),
    stepsOpen: !run.isOver && run.openTasks.hasSteps,
    release: options.release,
    // Twice what this turn consumed. So an instance that consumes one message per execution does not read
    // its whole backlog each time.
    messagesMax: Math.min(Math.max(2 * turn.consumed.length, MESSAGES_MIN), MESSAGES_MAX),
  };
  if (effects.answers !== null) item.answers = effects.answers;
  // Of an execution that ends, every callback is closed (provider.callbacks.2).
  if (effects.callbacks !== null && run.ended === null) item.callbacks = effects.callbacks;
  if (effects.dispatched !== null && effects.dispatched.size > 0) {
    item.dispatched = [...effects.dispatched.values()];
  }
  if (effects.streams !== null) item.streams = [...effects.streams.values()];
  const waitingEvents = waitingEventsOf(turn);
  if (waitingEvents !== undefined) item.waitingEvents = waitingEvents;
  if (keepsSuspicion(held, run)) item.keepsSuspicion = true;
  return item;
}

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

interface CancelRequest {
  readonly sequence: number;
  readonly event: OrchestrationCancelRequested;
}

function cancelRequestOf(
  { lastEvent }: HeldInstance,
  events: readonly EventBody[],
): CancelRequest | null {
  for (const [index, event] of events.entries()) {
    if (event.kind !== "OrchestrationCancelRequested") continue;
    return { sequence: lastEvent + 1 + index, event };
  }
  return null;
}

/** The tasks whose rows the turn deletes. */
function finishedTasks({ delivered }: FinishedTurn): readonly TaskClaim[] {
  const finished: TaskClaim[] = [];
  for (const { task } of delivered) if (task !== null) finished.push(task);
  return finished;
}

/**
 * While the code leaves events in the inbox, they are parked there. They make the instance due again when
 * the code takes events again.
 */
function waitingEventsOf({ run, leftEvents, parkedEvents }: FinishedTurn) {
  if (leavesEventsInInbox(run)) return "park";
  return leftEvents || parkedEvents ? "ready" : undefined;
}

function rowOf({ held, run, at }: FinishedTurn, events: readonly EventBody[]): HistoryRow {
  const { lastEvent } = held;
  const last = lastEvent + events.length;
  const first = lastEvent + 1;
  const row = { first, last, data: encodeRow(at, events, dueCheckpoint(run, first, last)) };
  return sealRow(row, held, run.options.codec.rowSeal);
}

/**
 * A step that was open when the instance was leased runs again. Until it ends, it may be the cause of the
 * crashes (provider.instances.4).
 */
export function keepsSuspicion({ leasedAt }: HeldInstance, run: Run): boolean {
  if (run.isOver || !run.openTasks.hasSteps) return false;
  for (const task of run.openTasks.values()) {
    if (task.kind === "step" && task.sequence <= leasedAt) return true;
  }
  return false;
}

function newTasks(run: Run, effects: TurnEffects, options: TurnCommitOptions): readonly NewTask[] {
  const tasks: NewTask[] = [];
  for (const task of effects.activities.values()) {
    const { sequence, body } = task;
    const { priority, started: inherited } = run;
    const weight = options.weightOf(body);
    const lease = options.leaseFor(task);
    const owner = keyExecution(run, sequence, body);
    const other = owner === run.execution ? undefined : owner;
    const origin = { priority, inherited, weight, lease, keyExecution: other };
    tasks.push(newTask(sequence, body, origin));
  }
  return tasks;
}

function timersOf(
  run: Run,
  effects: TurnEffects,
  cancelled: CancelRequest | null,
  options: TurnCommitOptions,
): readonly NewTimer[] {
  const timers = [...effects.timers.values()];
  if (cancelled !== null && !run.isOver) {
    const { sequence } = cancelled;
    timers.push({ kind: "cancelTimeout", sequence, delayMs: options.cancelTimeoutMs });
  }
  return timers;
}

function changeOf(run: Run, keep: HeldInstance["definition"]["keepMs"]): InstanceChange {
  const { ended } = run;
  if (ended === null) return { kind: "none" };
  switch (ended.kind) {
    case "OrchestrationCompleted": {
      const { output } = ended;
      const change = { kind: "ended", status: "completed", output, error: null } as const;
      const keepMs = keep?.completed;
      return keepMs === undefined ? change : { ...change, keepMs };
    }
    case "OrchestrationFailed": {
      const { outcome: status } = ended;
      const kept = defined({ keepMs: keep?.[status] });
      return { kind: "ended", status, output: null, error: JSON.stringify(ended), ...kept };
    }
    case "OrchestrationContinuedAsNew": {
      const version = ended.orchestrationVersion ?? null;
      const started = JSON.stringify(nextStart(run, ended));
      const unreadEvents = run.mailbox.unread().filter(({ name }) => !isCallbackMessage(name));
      const events = unreadEvents.map(({ name, data, key }) => ({ name, data, key }));
      const { copiedUntil = 0 } = run.options;
      const requests = run.hasRequests ? run.requests.unanswered(copiedUntil) : [];
      const unread = [...events, ...requests];
      return { kind: "continued", started, version, unread };
    }
  }
}

/** The outcomes of steps in a refused turn, as items for the inbox. */
export function stepOutcomeItems(
  held: HeldInstance,
  outcomes: readonly LocalOutcome[],
): readonly StepOutcomeItem[] {
  return outcomes.flatMap(({ task, body }) => {
    if (task !== null || !("scheduled" in body)) return [];
    const { key, token, execution } = held;
    const outcome = JSON.stringify(body);
    return [{ kind: "stepOutcome", key, token, execution, sequence: body.scheduled, outcome }];
  });
}

function parentMessages(run: Run): readonly OutgoingMessage[] {
  const { ended } = run;
  const parent = ended === null ? undefined : run.started.parent;
  if (ended === null || parent === undefined) return [];
  const outcome = childOutcome(ended, parent);
  if (outcome === null) return [];
  return [
    {
      to: { id: parent.id, runId: parent.runId },
      kind: "child",
      execution: parent.execution,
      sequence: parent.sequence,
      data: JSON.stringify(outcome),
      key: `c:${parent.execution}:${parent.sequence}`,
    },
  ];
}

/**
 * The checkpoint after the events `first` to `last`; null if none is due. A run that is over gets none: the
 * tasks of a blocked run may differ from its history.
 */
function dueCheckpoint(run: Run, first: number, last: number): Checkpoint | null {
  const { openTasks, mailbox, stillVisible } = run;
  const entries = openTasks.size + mailbox.unreadCount + stillVisible.length;
  if (!isCheckpointDue(first, last, entries)) return null;
  if (run.isOver || run.lastSequence !== last) return null;
  const events = [...stillVisible];
  for (const task of openTasks.values()) {
    events.push(task.sequence);
    if (task.kind === "step" && task.failedAt > 0) events.push(task.failedAt);
    if (task.kind === "requests" && task.service.changedAt > 0) events.push(task.service.changedAt);
  }
  return { events: events.sort((a, b) => a - b), unread: mailbox.unreadCounts() };
}
