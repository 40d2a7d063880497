// Activities that block the event loop are detected and named, and no work is lost. In a thread they block nothing.

import { describe, expect, onTestFinished, test } from "vitest";
import type { WorkFrame } from "../../../src/core/context/async-context.ts";
import { activity, Client, orchestration, threads, type Environment } from "../../../src/index.ts";
import { LoopWatch } from "../../../src/runtime/health/loop-watch.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { newPlace } from "../../support/test-store.ts";
import { collectLogs, memoryStore, startRuntime, until } from "../../faults/trouble/support.ts";
import { burn, busy } from "./threads/activities.ts";

const ADVICE = "in a thread: executor: threads(...)";

describe("an activity that blocks the loop", () => {
  test("synchronously is named in the log, and its result is recorded once", async () => {
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
      staleMs: 1_500, // shorter than the block, because heartbeats come from another thread
    });
    const other = await startRuntime(provider, [main, hash], { beatMs: 100, staleMs: 1_500 });
    const handle = await client.start(main, undefined, { id: "order-7" });
    expect(await handle.result({ timeout: "30s" })).toBe("done");
    const [line] = logs.about("event loop");
    expect(line?.level).toBe("warn");
    expect(line?.message).toMatch(
      /^activity "hash" of order-7 blocked the event loop for [\d,]+ ms; run it in a thread: executor: threads\(\.\.\.\)$/,
    );
    await until("the event loop turned", () => runtime.stats().loopStalls >= 1);
    expect(runtime.stats().loopStallMaxMs).toBeGreaterThanOrEqual(2_000);
    expect(runs).toBe(1);
    expect((await handle.history())[2]).toMatchObject({ kind: "ActivityCompleted", attempts: 1 });
    expect(other.stats().activities.started + runtime.stats().activities.started).toBe(1);
  });

  test("after an await is named as the probable cause", async () => {
    const { provider, client } = await memoryStore();
    const logs = collectLogs();
    const parse = activity("parse", async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      burn(900);
    });
    const main = orchestration("main", (ctx) => ctx.run(parse));
    await startRuntime(provider, [main, parse], { log: logs.sink });
    await (await client.start(main, undefined, { id: "order-8" })).result({ timeout: "30s" });
    await until("the block was logged", () => logs.about("event loop").length > 0);
    expect(logs.about("event loop").map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^the event loop was blocked for [\d,]+ ms, probably in activity "parse" of order-8; run/,
      ),
    ]);
  });

  test("as a step gets the advice to move it into an activity", async () => {
    const { provider, client } = await memoryStore();
    const logs = collectLogs();
    const main = orchestration("main", (ctx) => ctx.step("sum", () => burn(600)));
    await startRuntime(provider, [main], { log: logs.sink });
    await (await client.start(main, undefined, { id: "i" })).result({ timeout: "30s" });
    const [line] = logs.about("event loop");
    expect(line?.message).toMatch(/^step "sum" of i blocked .* move it into an activity/);
  });
});

test("a CPU-bound activity in a thread neither delays turns nor loses its lease", async () => {
  const { provider, client } = await memoryStore();
  const logs = collectLogs();
  const executor = threads({
    module: new URL("./threads/activities.ts", import.meta.url),
    size: 1,
  });
  const slow = orchestration("slow", (ctx) => ctx.run(busy, 3_000));
  const quick = orchestration("quick", (ctx) => ctx.step("s", () => 1));
  const options = { executor, taskLeaseMs: 1_500, log: logs.sink };
  const runtime = await startRuntime(provider, [slow, quick, busy], options);
  const other = await startRuntime(provider, [slow, quick, busy], options);
  const started = () => runtime.stats().activities.started + other.stats().activities.started;
  const handle = await client.start(slow, undefined, { id: "slow" });
  await until("the activity is active", () => started() === 1);
  let turns = 0;
  while ((await client.get("slow").describe()).status === "running") {
    await (await client.start(quick)).result({ timeout: "30s" });
    turns++;
  }
  expect(await handle.result()).toBe(false);
  expect((await handle.history())[2]).toMatchObject({ kind: "ActivityCompleted", attempts: 1 });
  expect(started()).toBe(1); // no runtime took it over
  expect(turns).toBeGreaterThan(2); // a blocked event loop would allow none
  expect(logs.about("busy")).toEqual([]); // it did not block the event loop of a runtime
});

describe("the loop watch", () => {
  /** An environment in which the test reports delays of the event loop. */
  function lateEnvironment() {
    const environment = new VirtualEnvironment();
    let report: (lateMs: number) => void = () => undefined;
    const late: Environment = Object.assign(environment, {
      watchDelay: (everyMs: number, fn: (lateMs: number) => void) => {
        expect(everyMs).toBeGreaterThanOrEqual(100);
        report = fn;
        return { cancel: () => (report = () => undefined) };
      },
    });
    return { environment, late, report: (lateMs: number) => report(lateMs) };
  }
  const frame = (name: string): WorkFrame => ({ kind: "activity", name, instanceId: `i-${name}` });

  function watch(running: readonly WorkFrame[], wasSuspended = false) {
    const { environment, late, report } = lateEnvironment();
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
    return { environment, loop, logs, stalls, report };
  }

  test("names the activities that may have blocked the loop: running ones, and those that ended since the last check", () => {
    const { loop, logs, report } = watch([frame("a"), frame("b")]);
    loop.ended(frame("before"));
    report(0); // the loop turned, so activities that ended before are not the cause
    for (const name of ["c", "d"]) loop.ended(frame(name));
    report(700);
    expect(logs.lines.map(({ message }) => message)).toEqual([
      'the event loop was blocked for 700 ms, probably in one of these: activity "c" of i-c, ' +
        `activity "d" of i-d, activity "a" of i-a, 1 more; run slow code ${ADVICE}`,
    ]);
  });

  test("names no activity if the whole process was suspended", async () => {
    const { environment, loop, logs, stalls, report } = watch([frame("a")], true);
    report(7_000);
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

  test("counts a delay without a running activity but does not log it", () => {
    const { logs, stalls, report } = watch([]);
    report(2_000);
    expect(logs.lines).toEqual([]);
    expect(stalls).toEqual([2_000]);
  });

  test("reports a delay with a known cause only once", async () => {
    const { environment, loop, logs, stalls, report } = watch([frame("a")]);
    const since = loop.now();
    await environment.advance(1_240);
    loop.reached(frame("a"), since);
    report(1_200);
    expect(logs.lines.map(({ message }) => message)).toEqual([
      `activity "a" of i-a blocked the event loop for 1,240 ms; run it ${ADVICE}`,
    ]);
    expect(stalls).toEqual([1_240]);
  });

  test("logs at most one line per ten seconds with the number of unlogged delays", async () => {
    const { environment, logs, stalls, report } = watch([frame("a")]);
    for (let i = 0; i < 5; i++) {
      report(600);
      await environment.advance(1_000);
    }
    expect(logs.lines).toHaveLength(1);
    await environment.advance(5_000);
    report(600);
    expect(logs.lines.map(({ fields }) => fields)).toEqual([{}, { stallsBefore: 4 }]);
    expect(stalls).toHaveLength(6);
  });

  test("ignores usual delays of the loop", () => {
    const { logs, stalls, report } = watch([frame("a")]);
    for (let i = 0; i < 10; i++) report(499);
    expect([logs.lines, stalls]).toEqual([[], []]);
  });
});
