// Outgoing calls: messages and starts for other instances, and the tasks of their results.
//   - outgoing-calls.1: A turn writes them as a client would, in its own commit. Their results come back as
//       messages (provider.asks.4). So nothing is dropped silently.
//   - outgoing-calls.2: If the code does not use the task of a message or a detached start in the turn that sends it,
//       it is quiet: only a failure comes back, and is logged. So a message without an `await` costs no turn. If the
//       code uses the task later, a message of the instance to itself reports the success. A failure has been in
//       the inbox before, so it is delivered first.
//   - A request id derives from the call, so that a repeated turn sends the same message. It has the form of a
//       generated id, because instances that are asked may live for years (request-ids.ts).

import type { DurableTask } from "../context/durable-task.ts";
import { ObservedTask } from "../context/durable-task.ts";
import { inheritedMembers } from "../context/start-context.ts";
import { deterministicUuid } from "./deterministic.ts";
import type {
  AskSent,
  DetachedStarted,
  EventRaised,
  OrchestrationStarted,
  SendCompleted,
} from "../history/events.ts";
import { generatedBefore } from "../ids/request-ids.ts";
import { requestMessageName, type RequestMessage } from "../ids/request-messages.ts";
import { terminated } from "../errors/built-in-failures.ts";
import { CancelledError } from "../errors/outcome-errors.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import type { AskItem, Dispatch } from "../provider/asks.ts";
import type { SendItem, StartItem } from "../provider/commit.ts";
import { sentKey } from "../provider/shared/message-keys.ts";
import { openCall } from "./calls.ts";
import type { OpenSend } from "./open-task.ts";
import type { EffectSource } from "./effects.ts";
import type { Run } from "./run.ts";

/** JSON text of the end of an instance that a start replaces. */
const REPLACED = JSON.stringify(terminated("another start replaced the instance"));

/** Asks another instance. */
export function callAsk(run: Run, body: AskSent): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    return { kind: "ask", sequence, scope, name: body.name, body: command.body, ...settle };
  });
}

type Sent = EventRaised | DetachedStarted;
type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

/** Raises an event or starts a detached instance. A detached start resolves with its outcome. */
export function callSend(run: Run, body: Sent): DurableTask<unknown> {
  const scope = run.currentScope();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  let observeLate = (): void => undefined;
  const task = new ObservedTask(promise, () => observeLate());
  const refused = scope.cancelReason();
  if (refused !== null) {
    if (!run.isOver) {
      run.rejectLater(() => reject(withoutEngineStack(new CancelledError(refused))));
    }
    return task;
  }
  const command = run.command(body);
  if (command === null) return task;
  const { sequence, body: recorded } = command;
  const settle = (result: unknown): void => resolve(isStart(body) ? result : undefined);
  if (isStart(recorded) && recorded.onConflict === undefined) {
    settle("started"); // an older history, which has no outcomes of detached starts
    return task;
  }
  const isObserved = (): boolean => task.isObserved;
  const open = { kind: "send", sequence, scope, name: body.name, body: recorded } as const;
  const openSend = { ...open, isObserved, resolve: settle, reject };
  observeLate = () => {
    if (recorded.quiet === true && run.isInTurn()) observeQuiet(run, openSend);
  };
  if (recorded.quiet === true) addQuiet(run, sequence);
  else run.openTasks.add(openSend);
  return task;
}

/** The code uses the task of a quiet message after its turn (outgoing-calls.2). */
function observeQuiet(run: Run, task: OpenSend): void {
  const { sequence: sent } = task;
  const failed = run.quietSends?.get(sent) ?? null;
  if (failed !== null) return task.reject(failed);
  const command = run.command({ kind: "SendObserved", observed: sent });
  if (command === null) return;
  run.openTasks.add(task);
  if (!command.isNew) return;
  const { instanceId: id, runId, execution } = run;
  const body: SendCompleted = { kind: "SendCompleted", scheduled: sent };
  run.effects.sends.push({
    to: { id, runId },
    kind: "sent",
    execution,
    sequence: sent,
    data: JSON.stringify(body),
    key: sentKey({ execution, sequence: sent }),
  });
}

/** Makes the messages of this turn quiet whose tasks the code does not use (outgoing-calls.2). */
export function hushUnused(run: Run): void {
  const { effects, openTasks } = run;
  if (effects.dispatched === null) return;
  for (const [sequence, dispatch] of effects.dispatched) {
    const task = openTasks.get(sequence);
    if (task?.kind !== "send" || task.isObserved() || hasOutcome(task.body)) continue;
    // The event is not encoded yet: the turn ends now.
    const body: Writable<Sent> = task.body;
    body.quiet = true;
    effects.dispatched.set(sequence, { ...dispatch, quiet: true });
    openTasks.delete(sequence);
    addQuiet(run, sequence);
  }
}

function addQuiet(run: Run, sequence: number): void {
  (run.quietSends ??= new Map()).set(sequence, null);
}

/** Whether a success has two outcomes, so that it must be reported. */
function hasOutcome(body: Sent): boolean {
  return isStart(body) && body.onConflict === "useExisting";
}

function isStart(body: EventRaised | DetachedStarted): body is DetachedStarted {
  return body.kind === "DetachedStarted";
}

/** The item that carries out a command. */
export function dispatchOf(
  sequence: number,
  body: AskSent | EventRaised | DetachedStarted,
  source: EffectSource,
): Dispatch {
  switch (body.kind) {
    case "AskSent":
      return { sequence, item: askItem(sequence, body, source) };
    case "EventRaised":
      return { sequence, item: sendItem(sequence, body, source), hasOwnId: true };
    case "DetachedStarted": {
      const { onConflict = "fail" } = body;
      return { sequence, item: { ...startItem(sequence, body, source), onConflict } };
    }
  }
}

/** The request id of an ask. */
export function askRequestId(
  sequence: number,
  { runId, execution, startedAt }: Pick<EffectSource, "runId" | "execution" | "startedAt">,
): string {
  return `${generatedBefore(startedAt)}-${runId}.${execution}.${sequence}`;
}

function askItem(sequence: number, body: AskSent, source: EffectSource): AskItem {
  const { id, name, input, start, chain } = body;
  const { instanceId, runId, execution } = source;
  const from = { id: instanceId, runId, execution, sequence };
  const message: RequestMessage = { input, from, ...(chain === undefined ? {} : { chain }) };
  return {
    kind: "ask",
    id,
    name: requestMessageName(name),
    data: JSON.stringify(message),
    requestId: askRequestId(sequence, source),
    asker: from,
    start:
      start === undefined
        ? null
        : {
            ...startItem(sequence, { ...start, id, unchecked: true }, source),
            onConflict: start.ifEnded ?? "useExisting",
            requestId: null,
            lease: null,
          },
  };
}

function sendItem(sequence: number, body: EventRaised, source: EffectSource): SendItem {
  const { id, name, data, ifMissing = "fail", keepForMs } = body;
  const requestId = askRequestId(sequence, source);
  const item: SendItem = { kind: "send", id, name, data, requestId, ifMissing };
  return keepForMs === undefined ? item : { ...item, keepForMs };
}

function startItem(
  sequence: number,
  body: Pick<
    DetachedStarted,
    | "name"
    | "orchestrationVersion"
    | "id"
    | "input"
    | "priority"
    | "attributes"
    | "delayMs"
    | "unchecked"
    | "context"
  >,
  source: EffectSource,
): StartItem {
  const { name, orchestrationVersion, id, input, priority, attributes, delayMs } = body;
  const { unchecked, context } = body;
  // The run id and the seed derive from the call, so that a repeated turn starts the same instance.
  const runId = derivedId(source.runId, source.execution, sequence);
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name,
    orchestrationVersion: orchestrationVersion ?? "",
    input,
    runId,
    seed: derivedId(runId, source.execution, sequence),
    ...inheritedMembers(source.started, context),
    ...(attributes === undefined ? {} : { attributes }),
    ...(unchecked === undefined ? {} : { unchecked }),
  };
  return {
    kind: "start",
    id,
    runId,
    name,
    version: orchestrationVersion ?? null,
    started: JSON.stringify(started),
    parent: null,
    onParentClose: "cancel",
    priority: priority ?? source.priority,
    attributes: attributes ?? {},
    onConflict: "fail",
    requestId: null,
    ...(delayMs === undefined ? {} : { delayMs }),
    terminated: REPLACED,
    events: [],
    lease: null,
  };
}

export function derivedId(from: string, execution: number, sequence: number): string {
  return deterministicUuid(from, execution, sequence).replaceAll("-", "");
}
