// The cut: the event before which a past is cut.
//   - repair.cut.1: "failure" cuts before the outcome whose error ended the execution; of several errors, such as those of
//       an AggregateError, before the first outcome. If the code itself threw, it cuts before the last event that was
//       delivered to it. That event is kept or goes back to the mailbox (past.ts), so the code that threw runs again, and
//       completed work does not.
//   - repair.cut.2: A cancelled execution is cut before its cancel request, a terminated one before its cancel request or,
//       without one, before its end, a blocked one before the event from which the code diverged.

import { checkInteger, checkMembers, invalidArgument } from "../checks.ts";
import { isEncodedValue, type Failure } from "../errors/failure-record.ts";
import type { BlockReason } from "../history/block.ts";
import {
  isCommand,
  isMark,
  isTerminal,
  type HistoryEvent,
  type OrchestrationFailed,
} from "../history/events.ts";
import { parseName, showValue } from "../ids/ids.ts";

/** A point in a history: an event, or the n-th call of a name. Default: the first. */
export type CutPoint =
  | number
  | { readonly activity: string; readonly nth?: number }
  | { readonly step: string; readonly nth?: number }
  | { readonly child: string; readonly nth?: number };

/** Where a rewind cuts. */
export type RewindPoint = { readonly to: "failure" } | { readonly before: CutPoint };

const CALLS = { activity: "ActivityScheduled", step: "StepScheduled", child: "ChildScheduled" };
type Called = keyof typeof CALLS;

/** How to open a failure that the codec has sealed. */
export type OpenFailure = (failure: Failure) => Failure;

/** Throws INVALID_ARGUMENT unless it is a point in a history. */
export function checkCutPoint(point: unknown, what: string): asserts point is CutPoint {
  if (typeof point === "number") return checkInteger(point, 2, what);
  if (typeof point !== "object" || point === null) throw notAPoint(point, what);
  const kinds = Object.keys(CALLS).filter((kind) => kind in point);
  const [kind] = kinds;
  if (kinds.length !== 1 || kind === undefined) throw notAPoint(point, what);
  checkMembers(point, { [kind]: true, nth: true }, what);
  const { nth, ...named } = point as Readonly<Record<string, unknown>> & { nth?: number };
  parseName(named[kind], `${kind} of ${what}`);
  checkInteger(nth, 1, `nth of ${what}`);
}

/** The sequence number of the event before which the past is cut. */
export function cutBefore(events: readonly HistoryEvent[], point: CutPoint): number {
  const last = events.at(-1)?.sequence ?? 0;
  if (typeof point === "number") {
    if (point <= last + 1) return point;
    throw invalidArgument(`before must be from 2 to ${last + 1} for this history; got ${point}.`);
  }
  const { nth = 1 } = point;
  const [kind, name] = calledOf(point);
  const found = events.filter(
    (event) => event.kind === CALLS[kind] && "name" in event && event.name === name,
  );
  const call = found[nth - 1];
  if (call !== undefined) return call.sequence;
  const calls = found.length === 1 ? "1 call" : `${found.length} calls`;
  throw invalidArgument(
    `The execution has ${calls} of ${kind} "${name}"; there is no call ${nth}.`,
  );
}

function calledOf(point: Exclude<CutPoint, number>): readonly [Called, string] {
  if ("activity" in point) return ["activity", point.activity];
  return "step" in point ? ["step", point.step] : ["child", point.child];
}

/** repair.cut.1, repair.cut.2. `block`: why the instance is blocked; null: it has ended. */
export function failureCut(
  events: readonly HistoryEvent[],
  block: BlockReason | null,
  open: OpenFailure,
): number {
  if (block !== null) return blockCut(block);
  const end = events.at(-1);
  if (end?.kind !== "OrchestrationFailed") {
    throw invalidArgument(
      'The instance has not failed; say where to go on with { before }, such as { before: { activity: "charge" } }.',
    );
  }
  if (end.outcome === "failed") return Math.max(failedCut(events, end, open), 2);
  const cancel = events.find(({ kind }) => kind === "OrchestrationCancelRequested");
  return cancel?.sequence ?? end.sequence;
}

function blockCut({ code, sequence }: BlockReason): number {
  if (sequence !== undefined) return Math.max(sequence, 2);
  const why = `The instance is blocked (${code}), not at an event of its history`;
  throw invalidArgument(`${why}; say where to go on with { before }, or unblock it.`);
}

function failedCut(
  events: readonly HistoryEvent[],
  end: OrchestrationFailed & { readonly sequence: number },
  open: OpenFailure,
): number {
  // The engine wrote the end; no code threw.
  if (end.failure.category === "configuration") return end.sequence;
  const { thrownAfter = end.sequence } = end;
  const thrown = [...errorsIn(open(end.failure))];
  let delivered = 1;
  let first: number | null = null;
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (event === undefined || event.sequence > thrownAfter || !isDelivery(event)) continue;
    if (delivered === 1) delivered = event.sequence;
    const cause = thrown.findIndex((each) => isCause(event, each, open));
    if (cause === -1) continue;
    thrown.splice(cause, 1); // each error has one outcome: an earlier outcome with the same text was handled
    first = event.sequence;
  }
  return first ?? delivered;
}

export function isDelivery(event: HistoryEvent): boolean {
  return !isCommand(event) && !isMark(event) && !isTerminal(event);
}

/** Whether the outcome holds this error. */
function isCause(event: HistoryEvent, thrown: Failure, open: OpenFailure): boolean {
  switch (event.kind) {
    case "ActivityFailed":
    case "StepFailed":
    case "ChildFailed":
    case "AskFailed":
    case "SendFailed":
      break;
    default:
      return false;
  }
  const failure = open(event.failure);
  const isRefusal = event.kind === "SendFailed" || event.kind === "AskFailed";
  return (
    thrown.message === failure.message &&
    thrown.code === failure.code &&
    (isRefusal || (thrown.name === failure.name && thrown.stack === failure.stack))
  );
}

/** The failure, its causes and its members. */
function errorsIn(failure: Failure): readonly Failure[] {
  const inner = [
    ...(failure.cause === undefined ? [] : [failure.cause]),
    ...(failure.errors ?? []),
  ];
  return [failure, ...inner.flatMap((each) => (isEncodedValue(each) ? [] : errorsIn(each)))];
}

function notAPoint(point: unknown, what: string): Error {
  const forms = 'the number of an event, or a call such as { activity: "charge", nth: 2 }';
  return invalidArgument(`${what} must be ${forms}; got ${showValue(point)}.`);
}
