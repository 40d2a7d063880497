// Activities that hold the main loop: noticed, named, and nothing is lost. In a thread they hold nothing up.

import { describe, expect, onTestFinished, test } from "vitest";
import type { WorkFrame } from "../../src/core/async-context.ts";
import { activity, Client, orchestration, threads, type Environment } from "../../src/index.ts";
import { LoopWatch } from "../../src/runtime/loop-watch.ts";
import { VirtualEnvironment } from "../../src/testing/virtual-environment.ts";
import { newPlace } from "../support/test-store.ts";
import { collectLogs, memoryStore, startRuntime, until } from "../trouble/support.ts";
import { burn, busy } from "./threads/activities.ts";

const ADVICE = "in a thread: executor: threads(...)";

describe("an activity that blocks the loop", () => {
  test("at once is named, and its result is recorded once", async () => {
    const place = newPlace("file");
    onTestFinished(() => place.remove());
    const provider = await place.open();
    onTestFinished(() => provider.close());
    const client = new Client(provider);
    const logs = collectLogs();
    let runs = 0;
    const hash = activity("hash", (ms: number) => {
      runs++;
      burn(ms);
      return "done";
    });
    const main = orchestration("main", (ctx) => ctx.run(hash, 2_000));
    const runtime = await startRuntime(provider, [main, hash], {
      log: logs.sink,
      beatMs: 100,
      staleMs: 1_500, // shorter than the block: the beats come from elsewhere
    });
    const other = await startRuntime(provider, [main, hash], { beatMs: 100, staleMs: 1_500 });
    const handle = await client.start(main, undefined, { id: "order-7" });
    expect(await handle.result({ timeout: "30s" })).toBe("done");
    const [line] = logs.about("event loop");
    expect(line?.level).toBe("warn");
    expect(line?.message).toMatch(
      /^activity "hash" of order-7 blocked the event loop for [\d,]+ ms; run it in a thread: executor: threads\(\.\.\.\)$/,
    );
    await until("the loop turned", () => runtime.stats().loopStalls >= 1);
    expect(runtime.stats().loopStallMaxMs).toBeGreaterThanOrEqual(2_000);
    expect(runs).toBe(1);
    expect((await handle.history())[2]).toMatchObject({ kind: "ActivityCompleted", attempts: 1 });
    expect(other.stats().activities.started + runtime.stats().activities.started).toBe(1);
  });

  test("after an await is named as the probable one", async () => {
    const { provider, client } = await memoryStore();
    const logs = collectLogs();
    const parse = activity("parse", async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      burn(900);
    });
    const main = orchestration("main", (ctx) => ctx.run(parse));
    await startRuntime(provider, [main, parse], { log: logs.sink });
    await (await client.start(main, undefined, { id: "order-8" })).result({ timeout: "30s" });
    await until("it was noticed", () => logs.about("event loop").length > 0);
    expect(logs.about("event loop").map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^the event loop stood still for [\d,]+ ms, probably in activity "parse" of order-8; run/,
      ),
    ]);
  });

  test("as a step is told what to do about it", async () => {
    const { provider, client } = await memoryStore();
    const logs = collectLogs();
    const main = orchestration("main", (ctx) => ctx.step("sum", () => burn(600)));
    await startRuntime(provider, [main], { log: logs.sink });
    await (await client.start(main, undefined, { id: "i" })).result({ timeout: "30s" });
    const [line] = logs.about("event loop");
    expect(line?.message).toMatch(/^step "sum" of i blocked .* make it an activity of its own/);
  });
});

test("a CPU-bound activity in a thread neither delays turns nor costs a lease", async () => {
  const { provider, client } = await memoryStore();
  const logs = collectLogs();
  const executor = threads({
    module: new URL("./threads/activities.ts", import.meta.url),
    size: 1,
  });
  const slow = orchestration("slow", (ctx) => ctx.run(busy, 2_000));
  const quick = orchestration("quick", (ctx) => ctx.step("s", () => 1));
  const options = { executor, taskLeaseMs: 300, log: logs.sink };
  const runtime = await startRuntime(provider, [slow, quick, busy], options);
  const other = await startRuntime(provider, [slow, quick, busy], options);
  const started = () => runtime.stats().activities.started + other.stats().activities.started;
  const handle = await client.start(slow, undefined, { id: "slow" });
  await until("it is under way", () => started() === 1);
  let turns = 0;
  while ((await client.get("slow").describe()).status === "running") {
    await (await client.start(quick)).result({ timeout: "30s" });
    turns++;
  }
  expect(await handle.result()).toBe(false);
  expect((await handle.history())[2]).toMatchObject({ kind: "ActivityCompleted", attempts: 1 });
  expect(started()).toBe(1); // nobody took it over
  expect(turns).toBeGreaterThan(20);
  expect(logs.about("busy")).toEqual([]); // it held no loop that anybody waits for
});

describe("the watch", () => {
  /** An environment whose loop is late when the test says so. */
  function lateEnvironment() {
    const environment = new VirtualEnvironment();
    let tell: (lateMs: number) => void = () => undefined;
    const late: Environment = Object.assign(environment, {
      watchDelay: (everyMs: number, fn: (lateMs: number) => void) => {
        expect(everyMs).toBeGreaterThanOrEqual(100);
        tell = fn;
        return { cancel: () => (tell = () => undefined) };
      },
    });
    return { environment, late, tell: (lateMs: number) => tell(lateMs) };
  }
  const frame = (name: string): WorkFrame => ({ kind: "activity", name, instanceId: `i-${name}` });

  function watch(running: readonly WorkFrame[], wasSuspended = false) {
    const { environment, late, tell } = lateEnvironment();
    const logs = collectLogs();
    const stalls: number[] = [];
    const loop = new LoopWatch({
      environment: late,
      log: logs.sink,
      running: () => running,
      wasSuspended: () => wasSuspended,
      onStall: (ms) => void stalls.push(ms),
    });
    loop.start();
    return { environment, loop, logs, stalls, tell };
  }

  test("names whoever may have held the loop: who runs, and who ended since it looked", () => {
    const { loop, logs, tell } = watch([frame("a"), frame("b")]);
    loop.ended(frame("before"));
    tell(0); // it turned: whoever ended before is out of it
    for (const name of ["c", "d"]) loop.ended(frame(name));
    tell(700);
    expect(logs.lines.map(({ message }) => message)).toEqual([
      'the event loop stood still for 700 ms, probably in one of these: activity "c" of i-c, ' +
        `activity "d" of i-d, activity "a" of i-a, 1 more; run what is slow ${ADVICE}`,
    ]);
  });

  test("blames no activity when the whole process was suspended", async () => {
    const { environment, loop, logs, stalls, tell } = watch([frame("a")], true);
    tell(7_000);
    await environment.advance(20_000);
    const since = loop.now();
    await environment.advance(3_000);
    loop.reached(frame("a"), since);
    expect(logs.lines.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^the process was stopped or suspended for 7,000 ms .* no activity/),
      expect.stringMatching(/^the process was stopped or suspended for 3,000 ms .* no activity/),
    ]);
    expect(stalls).toEqual([7_000, 3_000]);
  });

  test("says nothing of a loop that is late without an activity, but counts it", () => {
    const { logs, stalls, tell } = watch([]);
    tell(2_000);
    expect(logs.lines).toEqual([]);
    expect(stalls).toEqual([2_000]);
  });

  test("takes a delay that is explained for no second one", async () => {
    const { environment, loop, logs, stalls, tell } = watch([frame("a")]);
    const since = loop.now();
    await environment.advance(1_240);
    loop.reached(frame("a"), since);
    tell(1_200);
    expect(logs.lines.map(({ message }) => message)).toEqual([
      `activity "a" of i-a blocked the event loop for 1,240 ms; run it ${ADVICE}`,
    ]);
    expect(stalls).toEqual([1_240]);
  });

  test("writes a line in ten seconds at most, and says how many had none", async () => {
    const { environment, logs, stalls, tell } = watch([frame("a")]);
    for (let i = 0; i < 5; i++) {
      tell(600);
      await environment.advance(1_000);
    }
    expect(logs.lines).toHaveLength(1);
    await environment.advance(5_000);
    tell(600);
    expect(logs.lines.map(({ fields }) => fields)).toEqual([{}, { stallsBefore: 4 }]);
    expect(stalls).toHaveLength(6);
  });

  test("lets a loop be late by what is usual", () => {
    const { logs, stalls, tell } = watch([frame("a")]);
    for (let i = 0; i < 10; i++) tell(499);
    expect([logs.lines, stalls]).toEqual([[], []]);
  });
});
