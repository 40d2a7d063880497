// Random programs: each one runs in the three modes, which must leave the same data, and every invariant is checked.
// A program is data; its seed is in the title.

import { expect } from "vitest";
import { activity, orchestration, type OrchestrationContext } from "../../../src/index.ts";
import { TEST_STORE } from "../../support/test-store.ts";
import { scenario, type Scenario } from "../support/scenario.ts";
import type { World } from "../support/world.ts";

/** A store behind a socket is slower and gets fewer seeds. */
const [SEEDS_SHORT, SEEDS_FULL] = TEST_STORE === "sqlite" ? [8, 300] : [2, 40];
const SEEDS = process.env["PERDURE_FULL"] === undefined ? SEEDS_SHORT : SEEDS_FULL;

type Program =
  | { readonly op: "run"; readonly ms: number; readonly fails: number; readonly attempts: number }
  | { readonly op: "step"; readonly ms: number }
  | { readonly op: "sleep"; readonly ms: number }
  | { readonly op: "event"; readonly name: string; readonly ms: number }
  | { readonly op: "child"; readonly body: Program; readonly abandon: boolean }
  | { readonly op: "detached"; readonly body: Program }
  | { readonly op: "dropped"; readonly body: Program; readonly ms: number }
  | { readonly op: "shielded"; readonly body: Program }
  | { readonly op: "sequence" | "all" | "allSettled" | "race" | "any"; readonly parts: Program[] };

for (let seed = 1; seed <= SEEDS; seed++) {
  scenario(`random program ${seed}`, (t) => randomProgram(t, seed, false));
  scenario(`random program ${seed} with process deaths`, (t) => randomProgram(t, seed, true));
}

function randomProgram(t: World, seed: number, dies: boolean): Scenario {
  const draw = generator(seed);
  const parts = Array.from({ length: 3 }, () => generate(draw, 4));
  const program: Program = { op: "sequence", parts };
  const rounds = 1 + draw(3);
  const calls = new Map<string, number>();
  const completed: string[] = [];
  let kills = 0; // a third death during a turn would quarantine the instance (semantics 9a)
  const work = activity("work", async (call: { ms: number; fails: number }, context) => {
    const { attempt, idempotencyKey, signal } = context;
    calls.set(idempotencyKey, (calls.get(idempotencyKey) ?? 0) + 1);
    await pass(t, call.ms);
    if (attempt <= call.fails) throw new Error(`attempt ${attempt}`);
    if (!signal.aborted) completed.push(idempotencyKey);
    return attempt;
  });
  const run = orchestration("run", async (ctx, body: Program) => interpret(t, ctx, body));
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    ctx.compensate(() => ctx.run(work, { ms: 7, fails: 0 }));
    const value = await interpret(t, ctx, program);
    return round < rounds ? ctx.continueAsNew(round + 1) : value;
  });
  return {
    register: [work, run, main],
    ...(dies ? WITH_DEATHS : {}),
    run: async () => {
      const handle = await t.client.start(main, 1, { id: "root" });
      for (let tick = 0; tick < 12; tick++) {
        await t.advance(1 + draw(40_000));
        const isOver = (await t.client.get("root").describe()).completedAt !== undefined;
        if (isOver) continue;
        const choice = draw(12);
        if (choice < 6) await t.client.get("root").raise(`e${draw(3)}`, tick);
        else if (choice === 6) await t.deploy();
        else if (choice > 8 && dies) await injectFault(t, kills++ < 2 ? draw(4) : 0);
        else if (choice === 7 && tick > 5) await t.client.get("root").cancel(`tick ${tick}`);
      }
      await advanceUntilOver(t, 60);
      await t.client
        .get(handle.id)
        .cancel("time is up")
        .catch(() => undefined);
      await advanceUntilOver(t, 120); // the timeout of the cleanup has passed by then
      const info = await t.client.get(handle.id).describe();
      expect(info.status).not.toBe("running");
      // No result was produced twice. With process deaths this does not hold, because activities of a dead process continue.
      if (!dies) expect(new Set(completed).size).toBe(completed.length);
    },
  };
}

/** Advances the time until no instance runs, for at most that many minutes. */
async function advanceUntilOver(t: World, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 5) {
    await t.advance("5m");
    if ((await t.client.count({ status: ["pending", "running"] })) === 0) return;
  }
}

/** Kills the process while idle, or before or after its next commit, or makes two commits fail. Then boots a process. */
async function injectFault(t: World, how: number): Promise<void> {
  const { line } = t.process;
  if (how === 0) line.sever();
  if (how === 1) line.dieInNextCommit("before");
  if (how === 2) line.dieInNextCommit("after");
  if (how === 3) line.failNext("commit", { when: "after", times: 2 });
  await t.boot();
}

const WITH_DEATHS = {
  runtime: { beatMs: 10_000, staleMs: 30_000, stallMs: 30_000, pollIntervalMs: 10_000 },
  differs: {
    in: "everything",
    because: "a dead runtime holds hot instances until it is stale, but no cold ones",
  },
} as const;

/** Waits in virtual time, so that the clock decides the order of completions. */
async function pass(t: World, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void t.environment.setTimer(ms, resolve));
}

async function interpret(t: World, ctx: OrchestrationContext, program: Program): Promise<unknown> {
  const quiet = (promise: Promise<unknown>): Promise<unknown> => promise.catch(() => "failed");
  switch (program.op) {
    case "run": {
      const { ms, fails, attempts } = program;
      return ctx.run("work", { ms, fails }, { attempts });
    }
    case "step":
      return ctx.step("step", () => pass(t, program.ms));
    case "sleep":
      return ctx.sleep(program.ms);
    case "event":
      return ctx.race([ctx.waitFor(program.name), ctx.sleep(program.ms)]);
    case "child": {
      const options = program.abandon ? ({ onParentClose: "abandon" } as const) : {};
      return quiet(ctx.call("run", program.body, options));
    }
    case "detached":
      void ctx.startDetached("run", program.body, { id: ctx.uuid() });
      return ctx.random();
    case "dropped": {
      const block = ctx.scope(() => interpret(t, ctx, program.body));
      await ctx.sleep(program.ms);
      block.cancel("dropped");
      return quiet(block);
    }
    case "shielded":
      return ctx.shield(() => interpret(t, ctx, program.body));
    case "sequence": {
      const values: unknown[] = [];
      for (const part of program.parts) values.push(await quiet(interpret(t, ctx, part)));
      return values;
    }
    default: {
      const branches = program.parts.map((part) => () => interpret(t, ctx, part));
      const { all, allSettled, race, any } = ctx;
      const join: (list: typeof branches) => Promise<unknown> = { all, allSettled, race, any }[
        program.op
      ];
      return quiet(join(branches));
    }
  }
}

function generate(draw: (below: number) => number, depth: number): Program {
  const ms = 1 + draw(60_000);
  if (depth === 0 || draw(8) === 0) {
    if (draw(3) === 0) return { op: "event", name: `e${draw(3)}`, ms };
    if (draw(3) === 0) return { op: "sleep", ms };
    if (draw(5) === 0) return { op: "step", ms };
    return { op: "run", ms, fails: draw(4) === 0 ? 1 + draw(3) : 0, attempts: 1 + draw(3) };
  }
  const body = (): Program => generate(draw, depth - 1);
  const parts = (): Program[] => Array.from({ length: 1 + draw(4) }, body);
  switch (draw(10)) {
    case 0:
      return { op: "child", body: body(), abandon: draw(4) === 0 };
    case 1:
      return { op: "dropped", body: body(), ms };
    case 2:
      return draw(2) === 0 ? { op: "shielded", body: body() } : { op: "detached", body: body() };
    case 3:
      return { op: "all", parts: parts() };
    case 4:
      return { op: "allSettled", parts: parts() };
    case 5:
      return { op: "race", parts: parts() };
    case 6:
      return { op: "any", parts: parts() };
    default:
      return { op: "sequence", parts: parts() };
  }
}

/** A small linear congruential generator: whole numbers from 0 to below the bound. */
function generator(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
