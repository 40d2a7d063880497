// Outgoing calls: messages and starts for other instances, and the tasks of their results.
//   - outgoing-calls.1: A turn writes them as a client would, in its own commit. Their results come back as
//       messages (provider.asks.4). So nothing is dropped silently.
//   - A task that the code does not use is fine: its failure is logged.
//   - A request id derives from the call, so that a repeated turn sends the same message. It has the form of a
//       generated id, because instances that are asked may live for years (request-ids.ts).

import type { DurableTask } from "../context/durable-task.ts";
import { ObservedTask } from "../context/durable-task.ts";
import { deterministicUuid } from "./deterministic.ts";
import type {
  AskSent,
  DetachedStarted,
  EventRaised,
  OrchestrationStarted,
} from "../history/events.ts";
import { generatedBefore } from "../ids/request-ids.ts";
import { requestMessageName, type RequestMessage } from "../ids/request-messages.ts";
import { terminated } from "../errors/built-in-failures.ts";
import { CancelledError } from "../errors/outcome-errors.ts";
import { withoutEngineStack } from "../errors/replayed-error.ts";
import type { AskItem, Dispatch } from "../provider/asks.ts";
import type { SendItem, StartItem } from "../provider/commit.ts";
import { defined } from "../values/defined.ts";
import { openCall } from "./calls.ts";
import type { EffectSource } from "./effects.ts";
import type { Run } from "./run.ts";

/** Asks another instance. */
export function callAsk(run: Run, body: AskSent): DurableTask<unknown> {
  return openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null) return null;
    const { sequence } = command;
    return { kind: "ask", sequence, scope, name: body.name, body: command.body, ...settle };
  });
}

/** Raises an event or starts a detached instance. A detached start resolves with its outcome. */
export function callSend(run: Run, body: EventRaised | DetachedStarted): DurableTask<unknown> {
  const scope = run.currentScope();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const task = new ObservedTask(promise);
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
  const { name } = body;
  run.openTasks.add({
    kind: "send",
    sequence,
    scope,
    name,
    body: recorded,
    isObserved,
    resolve: settle,
    reject,
  });
  return task;
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
      return { sequence, item: sendItem(sequence, body, source) };
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
  const message: RequestMessage = { input, from, ...defined({ chain }) };
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
  return { kind: "send", id, name, data, requestId, ifMissing, ...defined({ keepForMs }) };
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
  >,
  source: EffectSource,
): StartItem {
  const { name, orchestrationVersion, id, input, priority, attributes, delayMs, unchecked } = body;
  // The run id and the seed derive from the call, so that a repeated turn starts the same instance.
  const runId = derivedId(source.runId, source.execution, sequence);
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name,
    orchestrationVersion: orchestrationVersion ?? "",
    input,
    runId,
    seed: derivedId(runId, source.execution, sequence),
    ...defined({ traceParent: source.traceParent, attributes, unchecked }),
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
    ...defined({ delayMs }),
    terminated: JSON.stringify(terminated("another start replaced the instance")),
    events: [],
    lease: null,
  };
}

export function derivedId(from: string, execution: number, sequence: number): string {
  return deterministicUuid(from, execution, sequence).replaceAll("-", "");
}
