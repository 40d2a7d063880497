// The loop: a schedule's orchestration. It sleeps until the next time, has it carried out, and continues as new.
//   LO1. The calendar is asked in steps alone, whose answers are recorded: a replay on a machine with other time zones
//        does not diverge, and an attempt that is repeated carries out the same time.
//   LO2. A new rule is taken when all that is due by the old one is done.
//   LO3. An execution is a few events long, and a schedule never ends by itself: with no time left it waits.
//   LO4. A time that is given up, since its input says so or no process survives it, is told of; the next ones come.
//   LO5. A change that is not a valid rule is logged and ignored. A schedule whose own rule is not valid starts no runs;
//        it logs why, takes a new rule at once, and checks again every hour: another machine may know its time zone.
//   LO6. Whether a rule is valid is part of the step's recorded result. Results without that part were recorded before
//        rules were checked; their rules count as valid.

import type { OrchestrationContext } from "../core/context-types.ts";
import type { Activity } from "../core/definitions.ts";
import { checkState } from "../core/state-schema.ts";
import { ActivityError } from "../core/task-errors.ts";
import { nextTime, timeToMakeUp } from "./calendar.ts";
import { formProblem, ruleProblem, type ScheduleRule } from "./rule.ts";
import {
  CHANGE,
  RULE,
  STATE,
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

const RECHECK_MS = 3_600_000;
/** As often as it takes: a schedule waits for its store, and for the code of an input. */
const RETRY = { maxAttempts: 2_147_483_647, backoff: { base: "1s", max: "1m" } } as const;

/** A schedule's function; `fire` starts a run. */
export function loop(fire: Fire): (ctx: Context, state: ScheduleState) => Promise<never> {
  return async (ctx, state) => {
    checkState(STATE, state, ctx.info.name);
    const { rule, run } = state;
    const after = state.after ?? ctx.now();
    const { next, following, problem, changeProblem } = await timesAfter(ctx, state, after);
    if (changeProblem !== null) {
      ctx.log.warn("schedule ignored an invalid change of its rule", { problem: changeProblem });
      return ctx.continueAsNew({ ...state, after, change: null });
    }
    if (state.change !== null && (next === null || next > ctx.now())) {
      // Times that passed under an invalid rule were missed: the new rule decides about them.
      const from = problem === null ? ctx.now() : after;
      return ctx.continueAsNew({ ...state, rule: state.change, change: null, after: from });
    }
    if (problem !== null) return waitForRule(ctx, { ...state, after }, problem);
    ctx.kv.set(RULE, rule);
    ctx.setStatus({ next, last: state.last } satisfies ScheduleStatus);

    const first = await firstOf(ctx, next, rule);
    if (first.kind === "change") {
      return ctx.continueAsNew({ ...state, after, change: changeOf(ctx, first.rule, state) });
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

/** LO5: a schedule with an invalid rule. */
async function waitForRule(ctx: Context, state: ScheduleState, problem: string): Promise<never> {
  ctx.log.error("schedule cannot start runs: its rule is not valid; call apply()", { problem });
  ctx.setStatus({ next: null, last: state.last, problem } satisfies ScheduleStatus);
  const change = ctx.event(CHANGE, { internal: true });
  const first = await ctx.race({ change, again: ctx.sleep(RECHECK_MS) });
  if (first.key === "again") return ctx.continueAsNew(state);
  return ctx.continueAsNew({ ...state, change: changeOf(ctx, first.value, state) });
}

/** The change that was raised or, if that is not a rule, the one that was pending before. */
function changeOf(ctx: Context, raised: ScheduleRule, { change }: ScheduleState) {
  const problem = formProblem(raised);
  if (problem === null) return raised;
  ctx.log.warn("schedule ignored an invalid change of its rule", { problem });
  return change;
}

/** The next time and the one after it; and whether the rule, and the one that comes next, are valid (LO6). */
async function timesAfter(ctx: Context, { rule, change }: ScheduleState, after: Date) {
  const find = (): Found => {
    const changeProblem = change === null ? null : ruleProblem(change);
    const problem = ruleProblem(rule);
    if (problem !== null) return [null, null, problem, changeProblem];
    const first = nextTime(rule, after.getTime());
    const following = first === null ? null : nextTime(rule, first);
    return [first, following, null, changeProblem];
  };
  const found = await ctx.step("next", find, { retry: RETRY });
  const [next, following, problem = null, changeProblem = null] = found;
  return { next: dateOf(next), following: dateOf(following), problem, changeProblem };
}

type Found = readonly [
  next: number | null,
  following: number | null,
  problem?: string | null,
  changeProblem?: string | null,
];

type First =
  | { readonly kind: "time"; readonly time: Date }
  | { readonly kind: "change"; readonly rule: ScheduleRule }
  | { readonly kind: "trigger" };

/** What comes first: the time, another rule, or somebody who wants a run. */
async function firstOf(ctx: Context, next: Date | null, rule: ScheduleRule): Promise<First> {
  const due = next === null ? null : later(next, Math.floor(ctx.random() * rule.jitterMs));
  if (next !== null && due !== null && due <= ctx.now()) return { kind: "time", time: next };
  const messages = {
    change: ctx.event(CHANGE, { internal: true }),
    trigger: ctx.event(TRIGGER),
  };
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
