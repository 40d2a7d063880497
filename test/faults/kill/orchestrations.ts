// The orchestrations under test: together they cover every way to wait. kill/jobs.ts can compute each result.

import { setTimeout as pause } from "node:timers/promises";
import {
  activity,
  ActivityError,
  event,
  NonRetryableError,
  orchestration,
  type Orchestration,
  type OrchestrationContext,
  type StepContext,
} from "../../../src/index.ts";
import { defineCrashers } from "./crashers.ts";
import { definedFlow } from "./flow.ts";
import { mix, type Job, type JobKind } from "./jobs.ts";
import type { RunLine, RunLog } from "./audit/run-log.ts";

export interface Work extends Job {
  readonly salt: number;
}
interface Round extends Job {
  readonly value: number;
  readonly heard: readonly number[];
}
export type Entry = Omit<RunLine, "what" | "pid" | "at">;

export const news = event<number>("news");
const QUICK = { kind: "fixed", base: 10 } as const;

/**
 * What a worker registers, and which orchestration runs which kind of job. A client that only starts jobs needs no log.
 */
export function defineAll(log: RunLog | null) {
  async function logged<T>(entry: Entry, ms: number, fn: () => T): Promise<T> {
    log?.append({ what: "begin", ...entry });
    await pause(ms);
    log?.append({ what: "end", ...entry });
    return fn();
  }
  function loggedActivity<I extends Job>(name: string, fn: (input: I, attempt: number) => number) {
    return activity(name, (input: I, { attempt, idempotencyKey: key, info }) => {
      const entry: Entry = { kind: "activity", name, instance: info.instanceId, key, attempt };
      return logged(entry, input.ms, () => fn(input, attempt));
    });
  }
  function loggedStep(ctx: OrchestrationContext, name: string, job: Work, failures = 0) {
    const instance = ctx.info.instanceId;
    const run = ({ attempt, idempotencyKey: key }: StepContext): Promise<number> =>
      logged({ kind: "step", name, instance, key, attempt }, job.ms, () => {
        if (attempt <= failures) throw new Error(`attempt ${attempt} fails`);
        return mix(job.seed, job.salt);
      });
    return ctx.step(name, run, { retry: { maxAttempts: failures + 1, backoff: QUICK } });
  }

  const work = loggedActivity("work", ({ seed, salt }: Work) => mix(seed, salt));
  const flaky = loggedActivity("flaky", ({ seed, salt }: Work, attempt) => {
    if (attempt < 3) throw new Error(`attempt ${attempt} fails`);
    return mix(seed, salt);
  });
  const refuse = loggedActivity("refuse", (_: Job) => {
    throw new NonRetryableError("no such thing");
  });

  const linear = orchestration("linear", async (ctx, { seed, ms }: Job) => {
    let value = seed;
    for (let salt = 0; salt < 4; salt++) value = await ctx.run(work, { seed: value, salt, ms });
    return value;
  });

  const parallel = orchestration("parallel", async (ctx, { seed, ms }: Job) => {
    const salts = [0, 1, 2, 3, 4];
    const values = await ctx.all(salts.map((salt) => ctx.run(work, { seed, salt, ms: ms + salt })));
    return ctx.run(work, { seed: values.reduce((a, b) => a + b, 0), salt: 5, ms });
  });

  const steps = orchestration("steps", async (ctx, { seed, ms }: Job) => {
    let value = seed;
    for (let salt = 0; salt < 3; salt++) {
      value = await loggedStep(ctx, `step-${salt}`, { seed: value, salt, ms });
    }
    const pair = [10, 11].map((salt) => loggedStep(ctx, `pair-${salt}`, { seed, salt, ms }));
    const last = loggedStep(ctx, "flaky-step", { seed, salt: 12, ms }, 2);
    return [value, ...(await ctx.all([...pair, last]))];
  });

  const timers = orchestration("timers", async (ctx, { seed, ms }: Job) => {
    await ctx.sleep(ms * 4);
    const value = await ctx.run(work, { seed, salt: 0, ms });
    const { key } = await ctx.race({ short: ctx.sleep(ms), long: ctx.sleep("1h") });
    return [key, await ctx.run(work, { seed: value, salt: 1, ms })];
  });

  const mailbox = orchestration("mailbox", async (ctx, { seed, ms }: Job) => {
    const heard: number[] = [];
    let value = seed;
    while (heard.length < 3) {
      const said = await ctx.waitFor(news);
      value = await ctx.run(work, { seed: value, salt: said, ms });
      heard.push(said);
    }
    return { heard, value };
  });

  const family = orchestration("family", async (ctx, { seed, ms }: Job) => {
    void ctx.startDetached(linear, { seed, ms }, { id: `${ctx.info.instanceId}.detached` });
    return ctx.all([0, 1, 2].map((child) => ctx.call(linear, { seed: mix(seed, child), ms })));
  });

  const rounds = orchestration("rounds", async (ctx, job: Job & Partial<Round>) => {
    const { seed, ms, value = seed, heard = [] } = job;
    const next = await ctx.run(work, { seed: value, salt: heard.length, ms });
    const all = [...heard, await ctx.waitFor(news)];
    if (all.length === 3) return { heard: all, value: next };
    return ctx.continueAsNew({ seed, ms, value: next, heard: all });
  });

  const stubborn = orchestration("stubborn", async (ctx, { seed, ms }: Job) => {
    const retry = { maxAttempts: 3, backoff: QUICK };
    const first = await ctx.run(flaky, { seed, salt: 0, ms }, { retry });
    const refused = await ctx.run(refuse, { seed, ms }, { retry }).catch((error: unknown) => error);
    if (!(refused instanceof ActivityError)) throw new Error("refuse did not fail as an activity");
    return { value: await ctx.run(work, { seed: first, salt: 1, ms }), refused: refused.message };
  });

  const waits = orchestration("waits", async (ctx, { seed, ms }: Job) => {
    await ctx.run(work, { seed, salt: 0, ms });
    await ctx.sleep("1h");
  });
  const doomed = orchestration("doomed", async (ctx, { seed, ms }: Job) => {
    ctx.compensate(async () => void (await ctx.run(work, { seed, salt: 1, ms })));
    const child = ctx.call(waits, { seed, ms });
    await ctx.run(work, { seed, salt: 0, ms });
    await ctx.all([child, ctx.waitFor(news)]);
  });

  const flow = definedFlow(work, logged);
  const crashers = defineCrashers(work, log);

  const byKind: Readonly<Record<JobKind, Orchestration<Job, unknown>>> = {
    linear,
    parallel,
    steps,
    timers,
    mailbox,
    family,
    rounds,
    stubborn,
    flow,
    doomed,
  };
  const innocents = [work, flaky, refuse, waits, ...Object.values(byKind)];
  return { byKind, crashers: crashers.byKind, register: [...innocents, ...crashers.register] };
}
