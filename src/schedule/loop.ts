// The loop: a schedule's orchestration. It sleeps until the next time, has it carried out, and continues as new.
//   LO1. The calendar is asked in steps alone, whose answers are recorded: a replay on a machine with other time zones
//        does not diverge, and an attempt that is repeated carries out the same time.
//   LO2. A new rule is taken when all that is due by the old one is done.
//   LO3. An execution is a few events long, and a schedule never ends by itself: with no time left it waits.
//   LO4. A time that is given up, since its input says so or no process survives it, is told of; the next ones come.

import type { OrchestrationContext } from "../core/context-types.ts";
import type { Activity } from "../core/definitions.ts";
import { ActivityError } from "../core/task-errors.ts";
import { nextTime, timeToMakeUp } from "./calendar.ts";
import type { ScheduleRule } from "./rule.ts";
import {
  CHANGE,
  RULE,
  TRIGGER,
  type Fired,
  type ScheduleState,
  type ScheduleStatus,
} from "./state.ts";

/** One run to start. */
export interface FireRequest {
  readonly time: Date;
  /** The execution, which tells this trigger from others of the same moment; null: it is a time of the calendar. */
  readonly trigger: number | null;
  readonly overlap: ScheduleRule["overlap"];
  /** The run that was started last. */
  readonly run: string | null;
}

type Context = OrchestrationContext<ScheduleState>;
type Fire = Activity<FireRequest, Fired>;

/** As often as it takes: a schedule waits for its store, for the code of an input, and for who knows its time zone. */
const RETRY = { maxAttempts: 2_147_483_647, backoff: { base: "1s", max: "1m" } } as const;

/** A schedule's function; `fire` starts a run. */
export function loop(fire: Fire): (ctx: Context, state: ScheduleState) => Promise<never> {
  return async (ctx, state) => {
    const { rule, run } = state;
    const after = state.after ?? ctx.now();
    const { next, following } = await timesAfter(ctx, rule, after);
    if (state.change !== null && (next === null || next > ctx.now())) {
      return ctx.continueAsNew({ ...state, rule: state.change, change: null, after: ctx.now() });
    }
    ctx.kv.set(RULE, rule);
    ctx.setStatus({ next, last: state.last } satisfies ScheduleStatus);

    const first = await firstOf(ctx, next, rule);
    if (first.kind === "change") {
      return ctx.continueAsNew({ ...state, after, change: first.rule });
    }
    if (first.kind === "trigger") {
      const trigger = ctx.info.executionId;
      const request = { time: ctx.now(), trigger, overlap: rule.overlap, run };
      const last = await carryOut(ctx, fire, request);
      return ctx.continueAsNew({ ...state, after, last, run: last.id ?? run });
    }
    // Times up to here are due whatever chance adds to them.
    const until = later(ctx.now(), -rule.jitterMs);
    const time = await timeOf(ctx, rule, { time: first.time, following, until });
    if (time === null) {
      const last: Fired = { time: first.time, outcome: "late" };
      return ctx.continueAsNew({ ...state, after: until, last });
    }
    const request = { time, trigger: null, overlap: rule.overlap, run };
    const last = await carryOut(ctx, fire, request);
    return ctx.continueAsNew({ ...state, after: time, last, run: last.id ?? run });
  };
}

/** LO4 */
async function carryOut(ctx: Context, fire: Fire, request: FireRequest): Promise<Fired> {
  try {
    return await ctx.run(fire, request, { retry: RETRY });
  } catch (error) {
    if (!(error instanceof ActivityError)) throw error; // somebody ends the schedule
    return { time: request.time, outcome: "failed", error: error.message };
  }
}

/** The next time, and the one after it. */
async function timesAfter(ctx: Context, rule: ScheduleRule, after: Date) {
  const find = () => {
    const first = nextTime(rule, after.getTime());
    return [first, first === null ? null : nextTime(rule, first)] as const;
  };
  const [next, following] = await ctx.step("next", find, { retry: RETRY });
  return { next: dateOf(next), following: dateOf(following) };
}

type First =
  | { readonly kind: "time"; readonly time: Date }
  | { readonly kind: "change"; readonly rule: ScheduleRule }
  | { readonly kind: "trigger" };

/** What comes first: the time, another rule, or somebody who wants a run. */
async function firstOf(ctx: Context, next: Date | null, rule: ScheduleRule): Promise<First> {
  const due = next === null ? null : later(next, Math.floor(ctx.random() * rule.jitterMs));
  if (next !== null && due !== null && due <= ctx.now()) return { kind: "time", time: next };
  const messages = { change: ctx.event(CHANGE), trigger: ctx.event(TRIGGER) };
  const first = await (next === null || due === null
    ? ctx.race(messages)
    : ctx.race({ ...messages, time: ctx.sleep(due).map(() => next) }));
  if (first.key === "time") return { kind: "time", time: first.value };
  if (first.key === "change") return { kind: "change", rule: first.value };
  return { kind: "trigger" };
}

/** Which time is carried out now that this one is due: mostly itself; null: none, all are too long ago. */
async function timeOf(
  ctx: Context,
  rule: ScheduleRule,
  due: { readonly time: Date; readonly following: Date | null; readonly until: Date },
): Promise<Date | null> {
  const { time, following, until } = due;
  const isLate = rule.maxLatenessMs !== null && until > later(time, rule.maxLatenessMs);
  const isMissed = rule.missed === "latest" && following !== null && following <= until;
  if (!isLate && !isMissed) return time;
  const bounds = { first: time.getTime(), now: until.getTime() };
  return dateOf(await ctx.step("missed", () => timeToMakeUp(rule, bounds), { retry: RETRY }));
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

function dateOf(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}
