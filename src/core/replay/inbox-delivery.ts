// Inbox delivery: converts a message of the inbox to an event of the history.
//   - A message for another execution, or about a task that is no longer open, is consumed without an event:
//       duplicates and late outcomes have no effect (I6).
//   - A message that cannot be read blocks the run and stays in the inbox (semantics 6).

import { scheduleToCloseFailure, terminated } from "../errors/built-in-failures.ts";
import type { DeliveryBody, SendFailed } from "../history/events.ts";
import {
  parseRequestMessage,
  requestIdOf,
  requestNameOf,
  type RequestMessage,
} from "../ids/request-messages.ts";
import {
  callbackRequestId,
  callbackSequence,
  isCallbackMessage,
  parseCallbackMessage,
} from "../ids/callback-messages.ts";
import type { Message } from "../provider/messages.ts";
import { childKeyExecution } from "../provider/shared/message-keys.ts";
import { defined } from "../values/defined.ts";
import type { OpenTask } from "./open-task.ts";
import { cancelOpenTasks } from "./cancel.ts";
import { decode } from "./delivery.ts";
import { madeIn } from "./fork.ts";
import { refuseUnreceived } from "./requests/request-call.ts";
import type { Run } from "./run.ts";

/** How many unread events an execution may hold while its code does not wait for an event (semantics 18a). */
const TAKE_AHEAD = 16;

/**
 * Whether the events in the inbox stay there for now. Without this rule, an actor that runs an activity per
 * event would record its whole backlog in the history of every execution, and put it back with
 * `continueAsNew`.
 */
export function leavesEventsInInbox(run: Run): boolean {
  const { mailbox } = run;
  if (mailbox.isWaiting) return false;
  if (!run.hasRequests) return mailbox.unreadCount >= TAKE_AHEAD;
  const { requests } = run;
  return !requests.isWaiting && mailbox.unreadCount + requests.unreadCount >= TAKE_AHEAD;
}

/** The event for the message; null if there is nothing to deliver. */
export function deliveryOf(run: Run, message: Message): DeliveryBody | null {
  if (message.damaged === true)
    return refuse(run, message, "is damaged: its checksum does not match its contents");
  if (message.execution !== null && message.execution !== run.execution) return null;
  switch (message.kind) {
    case "start":
      return run.deliveredSequence === 0 ? startOf(run, message) : null;
    case "activity":
      if (openOf(run, message, "activity") === null) return null;
      return parse(run, message, ["ActivityCompleted", "ActivityFailed"]);
    case "step":
      if (openOf(run, message, "step") === null) return null;
      return parse(run, message, ["StepCompleted", "StepFailed", "StepAttemptFailed"]);
    case "child":
      if (openOf(run, message, "child") === null || isOfEarlierCall(run, message)) return null;
      return parse(run, message, ["ChildCompleted", "ChildFailed"]);
    case "cancel":
      if (run.cancelReason !== null) return null;
      return parse(run, message, ["OrchestrationCancelRequested"]);
    case "event": {
      const { data, key } = message;
      const name = message.name ?? "";
      if (isCallbackMessage(name)) return callbackOf(run, message, name);
      const request = requestNameOf(name);
      if (request !== null) return requestOf(run, message, request);
      return { kind: "EventReceived", name, data, ...(key === null ? {} : { key }) };
    }
    case "answer":
      if (openOf(run, message, "ask") === null) return null;
      return parse(run, message, ["AskCompleted", "AskFailed"]);
    case "sent": {
      const body = parse(run, message, ["SendCompleted", "SendFailed"]);
      if (openOf(run, message, "send") !== null) return body;
      return body?.kind === "SendFailed" ? failureOfClosed(run, body) : null;
    }
    case "timer": {
      const timer = openOf(run, message, "timer");
      return timer === null ? null : { kind: "TimerFired", scheduled: timer.sequence };
    }
    case "deadline": {
      const overdue = run.deadlineAlarm.fired(run, message.visibleAt);
      const activity = openOf(run, message, "activity") ?? overdue;
      if (activity === null) return null;
      // Deletes the row of the task, so that no worker runs it after the deadline.
      run.effects.cancelledTasks.push(activity.sequence);
      return {
        kind: "ActivityFailed",
        scheduled: activity.sequence,
        attempts: 0,
        failure: scheduleToCloseFailure(),
      };
    }
    case "stepRetry": {
      const step = openOf(run, message, "step");
      // If the attempt ran before this message arrived, the next attempt has a later time. The message is
      // obsolete then.
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

/** A failure of a quiet message is recorded. That of a cancelled call is only logged: no code can receive it. */
function failureOfClosed(run: Run, body: SendFailed): SendFailed | null {
  if (run.quietSends?.has(body.scheduled) === true) return body;
  const { code, message: why } = body.failure;
  const message = `The call of event ${body.scheduled}, which was cancelled, failed: ${why}`;
  run.logs.push({ level: "warn", message, fields: defined({ code }) });
  return null;
}

/** Null: the message cannot be read, or is for a callback of another execution. */
function callbackOf(run: Run, message: Message, name: string): DeliveryBody | null {
  const { data, key } = message;
  const sequence = callbackSequence(name);
  const { runId } = run;
  if (key !== callbackRequestId({ runId, execution: madeIn(run, sequence), sequence })) return null;
  try {
    const { value, headers } = parseCallbackMessage(data);
    return { kind: "EventReceived", name, data: value, key, ...defined({ headers }) };
  } catch {
    return refuse(run, message, "cannot be read");
  }
}

/** Null: the message cannot be read, or the service of that name refuses it (request-services.1). */
function requestOf(run: Run, message: Message, name: string): DeliveryBody | null {
  let sent: RequestMessage;
  try {
    sent = parseRequestMessage(message.data);
  } catch {
    return refuse(run, message, "cannot be read");
  }
  const { input, from, chain } = sent;
  const id = requestIdOf(message.key ?? "");
  const links = defined({ from, chain });
  const service = run.hasRequests ? run.requests.serviceOf(name) : undefined;
  if (service === undefined) return { kind: "RequestReceived", name, id, input, ...links };
  const value = decode(run, input);
  if (value === null) return null;
  try {
    const checked = service.check(name, value.decoded);
    const text = checked === value.decoded ? input : run.codec.encode(checked);
    const changed = text === input ? {} : { sent: input };
    return { kind: "RequestReceived", name, id, input: text, ...changed, ...links };
  } catch (error) {
    refuseUnreceived(run, message, from, error);
    return null;
  }
}

/** A start without a version gets the version of the code that runs it. */
function startOf(run: Run, message: Message): DeliveryBody | null {
  const body = parse(run, message, ["OrchestrationStarted"]);
  if (body?.kind !== "OrchestrationStarted") return body;
  return { ...body, orchestrationVersion: run.options.version };
}

function terminate(run: Run): void {
  cancelOpenTasks(run, "cancel timed out");
  run.end(terminated(`the cleanup after the cancel request (${run.cancelReason}) took too long`));
}

function openOf(run: Run, message: Message, kind: OpenTask["kind"]): OpenTask | null {
  const task = message.sequence === null ? undefined : run.openTasks.get(message.sequence);
  return task?.kind === kind ? task : null;
}

/** Whether the child belongs to a call with the same number, of an execution from before the copied past (commit.8). */
function isOfEarlierCall(run: Run, { key, sequence }: Message): boolean {
  return key !== null && childKeyExecution(key) < madeIn(run, sequence ?? 0);
}

function parse(
  run: Run,
  message: Message,
  kinds: readonly DeliveryBody["kind"][],
): DeliveryBody | null {
  try {
    const body = JSON.parse(message.data) as { readonly kind?: unknown } | null;
    // The kind is compared with those that this message may become.
    if ((kinds as readonly unknown[]).includes(body?.kind)) return body as DeliveryBody;
  } catch {
    // reported below
  }
  return refuse(run, message, "cannot be read");
}

function refuse(run: Run, { id, kind }: Message, why: string): null {
  run.block({ code: "HISTORY_CORRUPT", message: `Message ${id} (${kind}) in the inbox ${why}.` });
  return null;
}

/**
 * Inbox order (messages.2): the start, a pending cancel, then (visibleAt, id). Events of one name are ordered
 * by id.
 */
export function inInboxOrder(messages: readonly Message[]): Message[] {
  if (messages.length < 2) return [...messages];
  const sorted = [...messages].sort(
    (a, b) =>
      Number(b.kind === "start") - Number(a.kind === "start") ||
      Number(b.kind === "cancel") - Number(a.kind === "cancel") ||
      a.visibleAt - b.visibleAt ||
      a.id - b.id,
  );
  const byName = new Map<string | null, Message[]>();
  for (const message of sorted) {
    if (message.kind !== "event") continue;
    const group = byName.get(message.name);
    if (group === undefined) byName.set(message.name, [message]);
    else group.push(message);
  }
  for (const group of byName.values()) group.sort((a, b) => a.id - b.id);
  return sorted.map((message) =>
    message.kind === "event" ? (byName.get(message.name)?.shift() ?? message) : message,
  );
}
