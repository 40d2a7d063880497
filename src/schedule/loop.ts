// The loop: the orchestration of a schedule. It sleeps until the next time, starts the run, and continues
// as new.
//   - schedule.loop.1: Times are computed only in steps, whose results are recorded. A replay on a machine
//        with different time zone data therefore does not diverge, and a repeated attempt uses the same
//        time.
//   - A new rule takes effect after all times that are due under the old rule.
//   - An execution has only a few events. A schedule does not end by itself: without a next time it waits
//        for events.
//   - schedule.loop.2: A run that cannot be started, because its input throws a NonRetryableError or kills
//        every process, is reported in the status as failed. The schedule continues with the next time.
//   - schedule.loop.3: A change that is not a valid rule is logged and ignored. A schedule whose own rule
//        is not valid starts no runs. It logs the reason, accepts a new rule at once, and checks its rule
//        again every hour, because another machine may know the time zone.
//   - schedule.loop.4: The validity of a rule is part of the step's recorded result. Results without that
//        part were recorded by versions that did not check rules; their rules count as valid.

import type { OrchestrationContext } from "../core/context/types.ts";
import type { Activity } from "../core/define/definitions.ts";
import { checkState } from "../core/define/state-schema.ts";
import { ActivityError } from "../core/errors/task-errors.ts";
import { missedTimeToRun, nextTime } from "./calendar.ts";
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
  /** The execution number, which distinguishes triggers of the same millisecond. Null: a scheduled time. */
  readonly trigger: number | null;
  readonly overlap: ScheduleRule["overlap"];
  /** The id of the last started run. */
  readonly run: string | null;
}

type Context = OrchestrationContext<ScheduleState>;
type Fire = Activity<FireRequest, Fired>;

const RECHECK_MS = 3_600_000;
/**
 * Retries without end: the store may be unavailable, and the input function may throw until its code is
 * fixed.
 */
const RETRY = { maxAttempts: 2_147_483_647, backoff: { base: "1s", max: "1m" } } as const;

/** The function of a schedule's orchestration. `fire` starts a run. */
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
      // While the rule was invalid, no runs were started. The new rule decides about the missed times.
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
      const last = await startRun(ctx, fire, request);
      return ctx.continueAsNew({ ...state, after, last, run: last.id ?? run });
    }
    // Times up to here are due even with the maximum jitter.
    const until = later(ctx.now(), -rule.jitterMs);
    const time = await timeOf(ctx, rule, { time: first.time, following, until });
    if (time === null) {
      const last: Fired = { time: first.time, outcome: "late" };
      return ctx.continueAsNew({ ...state, after: until, last });
    }
    const request = { time, trigger: null, overlap: rule.overlap, run };
    const last = await startRun(ctx, fire, request);
    return ctx.continueAsNew({ ...state, after: time, last, run: last.id ?? run });
  };
}

/** Starts the run; a failure becomes its outcome (schedule.loop.2). */
async function startRun(ctx: Context, fire: Fire, request: FireRequest): Promise<Fired> {
  try {
    return await ctx.run(fire, request, { retry: RETRY });
  } catch (error) {
    if (!(error instanceof ActivityError)) throw error; // The schedule was cancelled.
    return { time: request.time, outcome: "failed", error: error.message };
  }
}

/** Waits for a valid rule (schedule.loop.3). */
async function waitForRule(ctx: Context, state: ScheduleState, problem: string): Promise<never> {
  ctx.log.error("schedule cannot start runs: its rule is not valid; call apply()", { problem });
  ctx.setStatus({ next: null, last: state.last, problem } satisfies ScheduleStatus);
  const change = ctx.waitFor(CHANGE, { internal: true });
  const first = await ctx.race({ change, again: ctx.sleep(RECHECK_MS) });
  if (first.key === "again") return ctx.continueAsNew(state);
  return ctx.continueAsNew({ ...state, change: changeOf(ctx, first.value, state) });
}

/** The raised change. If it is not a valid rule: the change that was already pending. */
function changeOf(ctx: Context, raised: ScheduleRule, { change }: ScheduleState) {
  const problem = formProblem(raised);
  if (problem === null) return raised;
  ctx.log.warn("schedule ignored an invalid change of its rule", { problem });
  return change;
}

/** The next two times, and the problems of the rule and of the pending change (schedule.loop.4). */
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

/** Waits for the next time, a new rule or a trigger, whichever comes first. */
async function firstOf(ctx: Context, next: Date | null, rule: ScheduleRule): Promise<First> {
  const due = next === null ? null : later(next, Math.floor(ctx.random() * rule.jitterMs));
  if (next !== null && due !== null && due <= ctx.now()) return { kind: "time", time: next };
  const messages = {
    change: ctx.waitFor(CHANGE, { internal: true }),
    trigger: ctx.waitFor(TRIGGER),
  };
  const first = await (next === null || due === null
    ? ctx.race(messages)
    : ctx.race({ ...messages, time: ctx.sleep(due).map(() => next) }));
  if (first.key === "time") return { kind: "time", time: first.value };
  if (first.key === "change") return { kind: "change", rule: first.value };
  return { kind: "trigger" };
}

/**
 * The time to run now that `due.time` is due: usually that time itself. Null: every due time exceeds
 * `maxLateness`.
 */
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
  return dateOf(await ctx.step("missed", () => missedTimeToRun(rule, bounds), { retry: RETRY }));
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

function dateOf(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}
