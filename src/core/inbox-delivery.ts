// From inbox to history: what a message becomes for a run that takes it.
//   I1. A message for another execution, or about a task that is no longer open, becomes nothing and is
//       consumed: duplicates and late outcomes change nothing (I6).
//   I2. A message that cannot be read blocks the run and stays where it is (semantics 6).

import { ended } from "./endings.ts";
import type { DeliveryBody } from "./history-events.ts";
import { isKnownKind } from "./history-events.ts";
import type { Message } from "./provider/messages.ts";
import type { OpenTask } from "./open-task.ts";
import { cancelLeftovers } from "./run-cancel.ts";
import type { Run } from "./run.ts";

/** Events that an execution takes although its code does not wait for any (semantics 18a). */
const TAKE_AHEAD = 16;

/**
 * Whether the events in the inbox stay there for now. An actor that runs an activity for each event would otherwise
 * take its whole backlog into every execution's history, and put it back with `continueAsNew`.
 */
export function leavesEvents({ mailbox }: Run): boolean {
  return !mailbox.isWaiting && mailbox.unreadCount >= TAKE_AHEAD;
}

/** Null: nothing to deliver. */
export function deliveryOf(run: Run, message: Message): DeliveryBody | null {
  if (message.damaged === true)
    return refuse(run, message, "is not what was sent: its checksum differs");
  if (message.execution !== null && message.execution !== run.execution) return null;
  switch (message.kind) {
    case "start":
      return run.delivered === 0 ? startOf(run, message) : null;
    case "activity":
      if (openOf(run, message, "activity") === null) return null;
      return parse(run, message, ["ActivityCompleted", "ActivityFailed"]);
    case "step":
      if (openOf(run, message, "step") === null) return null;
      return parse(run, message, ["StepCompleted", "StepFailed", "StepAttemptFailed"]);
    case "child":
      if (openOf(run, message, "child") === null) return null;
      return parse(run, message, ["ChildCompleted", "ChildFailed"]);
    case "cancel":
      if (run.cancelReason !== null) return null;
      return parse(run, message, ["OrchestrationCancelRequested"]);
    case "event":
      return {
        kind: "EventReceived",
        name: message.name ?? "",
        data: message.data,
        ...(message.key === null ? {} : { key: message.key }),
      };
    case "timer": {
      const timer = openOf(run, message, "timer");
      return timer === null ? null : { kind: "TimerFired", scheduled: timer.sequence };
    }
    case "deadline": {
      const activity = openOf(run, message, "activity");
      if (activity === null) return null;
      // The task's row goes with it: nobody may work on after the last moment.
      run.effects.cancelledTasks.push(activity.sequence);
      return {
        kind: "ActivityFailed",
        scheduled: activity.sequence,
        attempts: 0,
        failure: {
          category: "application",
          kind: "timeout",
          name: "TimeoutError",
          message: "timeout: activity timed out (scheduleToClose)",
          retryable: false,
        },
      };
    }
    case "stepRetry": {
      const step = openOf(run, message, "step");
      // An attempt that was entered before its message came leaves it behind: the next one's time is another.
      if (step?.kind === "step" && step.dueAt <= message.visibleAt) step.dueAt = 0;
      return null;
    }
    case "cancelTimeout":
      if (run.cancelReason !== null) terminate(run);
      return null;
    case "wake":
      return null;
  }
}

/** A start that named no version gets the one that runs it. */
function startOf(run: Run, message: Message): DeliveryBody | null {
  const body = parse(run, message, ["OrchestrationStarted"]);
  if (body?.kind !== "OrchestrationStarted") return body;
  return { ...body, orchestrationVersion: run.options.version };
}

function terminate(run: Run): void {
  cancelLeftovers(run, "cancel timed out");
  const message = `Terminated: its clean-up after the cancel (${run.cancelReason}) took too long.`;
  run.end(ended("terminated", message));
}

function openOf(run: Run, message: Message, kind: OpenTask["kind"]): OpenTask | null {
  const task = message.sequence === null ? undefined : run.open.get(message.sequence);
  return task?.kind === kind ? task : null;
}

function parse(
  run: Run,
  message: Message,
  kinds: readonly DeliveryBody["kind"][],
): DeliveryBody | null {
  try {
    const body: unknown = JSON.parse(message.data);
    if (typeof body === "object" && body !== null && "kind" in body) {
      const { kind } = body;
      if (
        typeof kind === "string" &&
        isKnownKind(kind) &&
        (kinds as readonly string[]).includes(kind)
      ) {
        return body as DeliveryBody; // the kind was compared with those this message may become
      }
    }
  } catch {
    // told below
  }
  return refuse(run, message, "cannot be read");
}

function refuse(run: Run, { id, kind }: Message, why: string): null {
  run.block({ code: "HISTORY_CORRUPT", message: `Message ${id} (${kind}) in the inbox ${why}.` });
  return null;
}

/** Inbox order (B2): the start, a pending cancel, then (visibleAt, id), but ids alone within one event name. */
export function inOrder(messages: readonly Message[]): Message[] {
  if (messages.length < 2) return [...messages];
  const sorted = [...messages].sort(
    (a, b) =>
      Number(b.kind === "start") - Number(a.kind === "start") ||
      Number(b.kind === "cancel") - Number(a.kind === "cancel") ||
      a.visibleAt - b.visibleAt ||
      a.id - b.id,
  );
  const byName = new Map<string, Message[]>();
  for (const message of sorted) {
    if (message.kind !== "event" || message.name === null) continue;
    const group = byName.get(message.name);
    if (group === undefined) byName.set(message.name, [message]);
    else group.push(message);
  }
  for (const group of byName.values()) group.sort((a, b) => a.id - b.id);
  return sorted.map((message) =>
    message.kind === "event" && message.name !== null
      ? (byName.get(message.name)?.shift() ?? message)
      : message,
  );
}
