// Replaced outcomes: values of an operator instead of what a call returned or threw.
//   - repair.replace.1: A call that has an outcome gets the new one in its place. A call without one gets it as a kept
//       outcome (repair.past.2), after the others.
//   - Only activities, steps, children and requests to other instances have an outcome that can be replaced.

import { checkInteger, checkMembers, invalidArgument, type Members } from "../checks.ts";
import type { HistoryEvent } from "../history/events.ts";
import { projectHistory, type Call } from "../history/projection.ts";
import { showValue } from "../ids/ids.ts";
import { defined } from "../values/defined.ts";

/** A call, and the value that it returns instead of its outcome. */
export interface Replacement {
  /** The event that scheduled the call, or the event with its outcome. */
  readonly sequence: number;
  readonly output: unknown;
}

const REPLACEMENT: Members<Replacement> = { sequence: true, output: true };

export function checkReplacements(list: unknown): asserts list is readonly Replacement[] {
  if (!Array.isArray(list)) {
    throw invalidArgument(
      `replace must be a list of { sequence, output }; got ${showValue(list)}.`,
    );
  }
  for (const each of list as readonly unknown[]) {
    if (typeof each !== "object" || each === null || !("output" in each) || !("sequence" in each)) {
      const form = "each member of replace must be { sequence, output }";
      throw invalidArgument(`${form}; got ${showValue(each)}.`);
    }
    checkMembers(each, REPLACEMENT, "replace");
    checkInteger(each.sequence as number, 2, "sequence of replace"); // checked here
  }
}

export interface ReplacedHistory {
  readonly events: readonly HistoryEvent[];
  /** The calls whose outcome was replaced. */
  readonly calls: readonly number[];
}

/** `encode`: the codec's. `before`: the cut; the calls must be before it. */
export function replaceOutcomes(
  events: readonly HistoryEvent[],
  replacements: readonly Replacement[],
  before: number,
  encode: (value: unknown) => string,
): ReplacedHistory {
  if (replacements.length === 0) return { events, calls: [] };
  const { calls } = projectHistory(events);
  const result = [...events];
  const replaced: number[] = [];
  for (const { sequence, output } of replacements) {
    const call = callOf(events, calls, sequence);
    const { sequence: scheduled } = call.scheduled;
    if (scheduled >= before) {
      const where = `event ${scheduled}, after the cut before event ${before}`;
      throw invalidArgument(`replace: the call of ${where}, will be made again.`);
    }
    if (replaced.includes(scheduled)) {
      throw invalidArgument(`replace names the call of event ${scheduled} twice.`);
    }
    const body = completedOf(call, encode(output));
    // repair.replace.1
    const old = call.outcome?.status === "cancelled" ? undefined : call.outcome?.event;
    if (old === undefined) {
      const last = result.at(-1);
      const next = { sequence: (last?.sequence ?? 0) + 1, at: last?.at ?? 0 };
      result.push({ ...body, ...next, version: last?.version ?? 1 });
    } else {
      const { sequence: place, at, version, release } = old;
      const row = { sequence: place, at, version, ...defined({ release }) };
      result[place - 1] = { ...body, ...row };
    }
    replaced.push(scheduled);
  }
  return { events: result, calls: replaced };
}

function callOf(
  events: readonly HistoryEvent[],
  calls: ReadonlyMap<number, Call>,
  sequence: number,
): Call {
  const event = events[sequence - 1];
  const scheduled = event !== undefined && "scheduled" in event ? event.scheduled : sequence;
  const call = calls.get(scheduled);
  if (call !== undefined && isReplaceable(call)) return call;
  const rule = "replace must name a call of an activity, a step, a child or a request";
  throw invalidArgument(`${rule}; event ${sequence} is ${event?.kind ?? "not in the history"}.`);
}

function isReplaceable({ kind }: Call): boolean {
  return kind === "activity" || kind === "step" || kind === "child" || kind === "ask";
}

function completedOf({ kind, scheduled, outcome }: Call, output: string) {
  const of = { scheduled: scheduled.sequence, output, replaced: true } as const;
  const old = outcome?.event;
  const attempts = old !== undefined && "attempts" in old ? old.attempts : 0;
  switch (kind) {
    case "activity":
      return { kind: "ActivityCompleted", ...of, attempts } as const;
    case "step":
      return { kind: "StepCompleted", ...of, attempts } as const;
    case "child":
      return { kind: "ChildCompleted", ...of } as const;
    default:
      return { kind: "AskCompleted", ...of } as const;
  }
}
