// Callback checks, seen from outside: the answers that clients got, and the histories (C22 to C26). The store is
// checked after every call (invariants/callbacks.ts).

import type { CallbackAddress } from "../../../../core/define/callback.ts";
import type { HistoryEvent } from "../../../../core/history/events.ts";
import { callbackMessageName } from "../../../../core/ids/callback-messages.ts";
import { defaultCodec } from "../../../../core/values/codec.ts";
import type { InvariantNumber } from "../../violation.ts";
import type { EndOfRun } from "../../world/workload.ts";
import type { Job } from "../jobs.ts";
import { partsOf, type LaterNode, type Program } from "../program.ts";
import { LATER } from "./code.ts";
import type { MadeCall, Outside } from "./outside.ts";

type Found = readonly [invariant: InvariantNumber, what: string];
interface Frame {
  readonly end: EndOfRun;
  /** Whether the store's clock may go back. A callback whose time was over is then open again. */
  readonly mayJump: boolean;
}

export function checkCallbacks(jobs: readonly Job[], outside: Outside, frame: Frame): void {
  for (const target of outside.targets) {
    for (const [invariant, what] of answerFaults(outside.callsFor(target), frame))
      frame.end.report(what, invariant);
  }
  for (const job of jobs) {
    const instance = frame.end.instances.get(job.id);
    if (job.callers === undefined || instance === undefined) continue;
    for (const [execution, events] of instance.executions) {
      const where = `${job.id}#${execution}`;
      checkWaits(where, { job, events, outside }, frame);
      checkActivities(where, { job, events, outside }, frame);
    }
  }
}

/** C24, C25: after the first answer every later completion gets the same one. */
function answerFaults(calls: readonly MadeCall[], { mayJump }: Frame): readonly Found[] {
  const completions = calls.filter(({ kind }) => kind === "complete");
  return completions.flatMap(({ answer, beganAt, value, key }): readonly Found[] => {
    const before = completions.filter((each) => each.answer !== null && each.answer.at < beganAt);
    const wasDone = before.some((each) => each.answer?.kind === "done");
    const wasClosed = before.some((each) => each.answer?.kind === "closed");
    if (wasDone && answer?.kind === "closed")
      return [["C24", `a repeated completion of ${key} (${value}) was refused`]];
    if (wasClosed && !wasDone && answer?.kind === "done" && !mayJump)
      return [["C25", `${key} was closed, but a later completion (${value}) was accepted`]];
    return [];
  });
}

interface Execution {
  readonly job: Job;
  readonly events: readonly HistoryEvent[];
  readonly outside: Outside;
}

/** C22, C23 */
function checkWaits(
  where: string,
  { job, events, outside }: Execution,
  { end, mayJump }: Frame,
): void {
  const nodes = new Map(job.input.rounds.flatMap((round) => awaitedIn(round, true)));
  const isStopped = events.some(({ kind }) => kind === "OrchestrationCancelRequested");
  for (const created of events) {
    if (created.kind !== "CallbackCreated") continue;
    const { token } = defaultCodec.decode(created.address) as CallbackAddress; // ctx.callback wrote it
    const calls = outside.callsFor(token);
    const name = callbackMessageName(created.sequence);
    const values = events.flatMap((event) =>
      event.kind === "EventReceived" && event.name === name
        ? [defaultCodec.decode(event.data)]
        : [],
    );
    const what = `${where}: callback ${created.name}`;
    if (values.length > 1) end.report(`${what} has received ${values.join(", ")}`, "C22");
    for (const value of values) {
      const isSent = calls.some((call) => call.value === value && call.answer?.kind !== "closed");
      if (!isSent) end.report(`${what} has received ${String(value)}, which was not sent`, "C22");
    }
    // A value that arrives before the timeout is delivered before it.
    const isTimedOut = events.some(
      (event) =>
        event.kind === "EventSubscriptionCancelled" && event.scheduled === created.sequence,
    );
    const acknowledged = calls.find(({ answer }) => answer?.kind === "done");
    const isSure = nodes.get(created.name) === "awaited" && !mayJump && !isStopped;
    if (isSure && isTimedOut && acknowledged !== undefined)
      end.report(`${what} timed out although ${acknowledged.value} was acknowledged`, "C23");
  }
}

/** The callbacks of a program by name. "awaited": only the callback's timeout ends the wait. */
function awaitedIn(
  program: Program,
  isSure: boolean,
): readonly (readonly [string, "awaited" | "raced"])[] {
  if (program.op === "callback")
    return [[program.key, isSure && program.how !== "race" ? "awaited" : "raced"]];
  const isOpen = isSure && (program.op === "sequence" || program.op === "all");
  return partsOf(program).flatMap((part) => awaitedIn(part, isOpen));
}

/** C26 */
function checkActivities(where: string, { events, outside }: Execution, { end }: Frame): void {
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return;
  const execution = where.slice(where.lastIndexOf("#") + 1);
  for (const scheduled of events) {
    if (scheduled.kind !== "ActivityScheduled" || scheduled.name !== LATER) continue;
    const node = defaultCodec.decode(scheduled.input) as LaterNode; // written by runLater
    const calls = outside.callsFor(`${started.runId}:${execution}:${scheduled.sequence}`);
    const what = `${where}: activity ${node.key}`;
    for (const fault of activityFaults(node, scheduled.sequence, events, calls))
      end.report(`${what} ${fault}`, "C26");
  }
}

function activityFaults(
  { attempts, fails, timeoutMs, heartbeatMs }: LaterNode,
  sequence: number,
  events: readonly HistoryEvent[],
  calls: readonly MadeCall[],
): readonly string[] {
  const ends = events.filter(
    (event) =>
      (event.kind === "ActivityCompleted" || event.kind === "ActivityFailed") &&
      event.scheduled === sequence,
  );
  const [first] = ends;
  if (ends.length > 1) return [`has ${ends.length} outcomes`];
  const sent = (kind: MadeCall["kind"]): readonly MadeCall[] =>
    calls.filter((call) => call.kind === kind && call.answer?.kind !== "closed");
  const completed = calls.some(
    ({ kind, answer }) => kind === "complete" && answer?.kind === "done",
  );
  if (first?.kind === "ActivityCompleted") {
    const value = defaultCodec.decode(first.output);
    return sent("complete").some((call) => call.value === value)
      ? []
      : [`completed with ${String(value)}, which was not sent`];
  }
  if (first?.kind !== "ActivityFailed") return [];
  const { failure } = first;
  const found = completed ? ["failed although a completion was acknowledged"] : [];
  if (failure.category === "poison") return found;
  if (failure.kind === "timeout" && timeoutMs === null && heartbeatMs === null)
    found.push("timed out without a timeout");
  if (failure.kind === undefined && sent("fail").length + fails === 0)
    found.push("failed without a cause");
  if (first.attempts < attempts)
    found.push(`failed after ${first.attempts} of ${attempts} attempts`);
  return found;
}
