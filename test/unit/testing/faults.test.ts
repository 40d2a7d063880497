// Providers with injected faults, and the two test loops built on them. Both loops must find a wrong program.

import { describe, expect, test } from "vitest";
import {
  activity,
  event,
  orchestration,
  type CommitItem,
  type Provider,
} from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import {
  crashEverywhere,
  durableWrites,
  failEveryCall,
  faultAt,
  faultyProvider,
  VirtualEnvironment,
  type FaultPlan,
} from "../../../src/testing/index.ts";

const work = activity("work", async (value: number) => value * 2);
const approval = event<string>("approval");
const main = orchestration("main", async (ctx, value: number) => {
  const doubled = await ctx.run(work, value);
  await ctx.sleep("1h");
  ctx.setStatus("half way");
  const by = await ctx.waitFor(approval);
  return [await ctx.step("last", () => doubled + 1), by];
});
const register = [main, work];

async function faulty(plan: FaultPlan) {
  const environment = new VirtualEnvironment();
  const store = await SqliteProvider.open(":memory:", { environment });
  return { environment, store, ...{ line: faultyProvider(store, plan) } };
}
const PAUSE = { kind: "pause", id: "missing", info: "{}" } as const;

describe("a provider with faults", () => {
  test("fails only the planned call, here after it was executed", async () => {
    const { line, store } = await faulty(
      faultAt(2, { kind: "fail", when: "after" }, ({ method }) => method === "countInstances"),
    );
    expect(await line.provider.countInstances({})).toBe(0);
    await expect(line.provider.countInstances({})).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(await line.provider.countInstances({})).toBe(0);
    expect(line.calls).toBe(3);
    await store.close();
  });

  test("delays an answer by the clock of the store", async () => {
    const { line, store, environment } = await faulty(
      faultAt(1, { kind: "delay", when: "after", ms: 5_000 }),
    );
    let answered = false;
    const call = line.provider.countInstances({}).then(() => (answered = true));
    await environment.advance(4_999);
    expect(answered).toBe(false);
    await environment.advance(1);
    await call;
    await store.close();
  });

  test("gives no answer and no notification after a crash, and fails all waiting calls after bury()", async () => {
    const { line, store, environment } = await faulty(
      faultAt(1, { kind: "crash", when: "before" }, durableWrites),
    );
    const received: unknown[] = [];
    line.provider.subscribe((news) => received.push(news));
    const outcomes: string[] = [];
    const note = (call: Promise<unknown>): void =>
      void call.then(
        () => outcomes.push("answered"),
        () => outcomes.push("failed"),
      );
    note(line.provider.commit([PAUSE]));
    note(line.provider.countInstances({}));
    await line.crashed;
    await store.commit([PAUSE]);
    await environment.settle();
    expect({ outcomes, received }).toEqual({ outcomes: [], received: [] });
    line.bury();
    await environment.settle();
    expect(outcomes).toEqual(["failed", "failed"]);
    await store.close();
  });

  test("drops the planned notifications", async () => {
    const { line, store, environment } = await faulty({ news: () => false });
    const received: unknown[] = [];
    line.provider.subscribe((news) => received.push(news));
    await line.provider.commit([PAUSE]);
    await environment.settle();
    expect(received).toEqual([]);
    expect("startLivenessThread" in line.provider).toBe(false); // it would send heartbeats for a crashed process
    await store.close();
  });
});

describe("crashEverywhere", () => {
  test("gets the same outcome after a crash at every write, and describes the writes", async () => {
    const report = await crashEverywhere(main, 21, {
      register,
      when: "both",
      scenario: (t, handle) => t.raiseAt(handle, approval, "ada", "2h"),
      check: (t) => expect(t.calls(work).length).toBeLessThanOrEqual(2),
    });
    expect(report.writes.length).toBeGreaterThan(5);
    expect(report.runs).toBe(2 * report.writes.length + 1);
    expect(report.writes.join("\n")).toContain('commit of the start of "crash-everywhere"');
    expect(report.writes.join("\n")).toMatch(/a turn \(ActivityCompleted 3, TimerCreated 4\)/);
  });

  test("draws the same idempotency keys and ids in every run", async () => {
    const keyOf = activity("key", async (_: null, { idempotencyKey }) => idempotencyKey);
    const child = orchestration("child", (ctx) => ctx.run(keyOf, null));
    const keys = orchestration("keys", async (ctx) => [
      await ctx.run(keyOf, null),
      await ctx.step("key", ({ idempotencyKey }) => idempotencyKey),
      await ctx.call(child),
      ctx.uuid(),
    ]);
    await crashEverywhere(keys, undefined, { register: [keys, child, keyOf], when: "both" });
  });

  test("names the write at which an outcome that depends on memory differs", async () => {
    let remembered = 0;
    const counting = activity("work", async () => ++remembered);
    const forgetful = orchestration("forgetful", async (ctx) => {
      await ctx.run(counting);
      await ctx.sleep("1s");
      return remembered;
    });
    const running = crashEverywhere(forgetful, undefined, {
      register: [forgetful, counting],
      when: "both",
      prepare: () => void (remembered = 0),
    });
    await expect(running).rejects.toThrow(
      /After a crash before write \d+, .*: the outcome differs: without a crash \{ value: 1 \}, with it \{ value: 2 \}/,
    );
  });
});

describe("crashEverywhere names the run that failed", () => {
  test("a run that fails without a crash", async () => {
    const waiting = orchestration("waiting", (ctx) => ctx.waitFor("answer"));
    const running = crashEverywhere(waiting, undefined, { register: [waiting] });
    await expect(running).rejects.toMatchObject({
      message: expect.stringMatching(
        /^In the run without a crash: Instance "crash-everywhere" of waiting 1\.0\.0 would wait f/,
      ) as string,
      code: "TIMEOUT",
    });
  });

  test("a check that fails after a crash", async () => {
    let runs = 0;
    const simple = orchestration("simple", (ctx) => ctx.sleep("1s"));
    const check = (): void => {
      if (++runs === 3) throw new Error("not as it should be");
    };
    const running = crashEverywhere(simple, undefined, { register: [simple], check });
    await expect(running).rejects.toThrow(
      /^After a crash after write 2, \w.*: not as it should be$/,
    );
  });
});

describe("failEveryCall", () => {
  const scenario = (store?: (provider: Provider) => Provider) => ({
    name: "main",
    options: () => ({
      register,
      ...(store === undefined
        ? {}
        : {
            store: async (environment: Provider["environment"]) =>
              store(await SqliteProvider.open(":memory:", { environment })),
          }),
    }),
    run: async (t: Parameters<Parameters<typeof failEveryCall>[0]["run"]>[0]) => {
      const handle = await t.start(main, 4);
      t.raiseAt(handle, approval, "ada", "2h");
      return handle.result();
    },
  });

  test("runs until every call has failed once", async () => {
    const { calls, runs } = await failEveryCall(scenario(), { faults: ["kill"] });
    expect(runs).toBe(calls + 2); // one run without a fault, and one whose fault was not reached
  });

  test("detects a store that confirms a start without writing it", async () => {
    const forgetful = (provider: Provider): Provider =>
      new Proxy(provider, {
        get(target, name) {
          if (name === "settle") {
            return (item: CommitItem) =>
              item.kind === "start"
                ? Promise.resolve({ kind: "started", key: 1, execution: 1, leased: null })
                : target.settle(item);
          }
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        },
      });
    await expect(failEveryCall(scenario(forgetful), { faults: ["throw"] })).rejects.toThrow(
      /main: throw at call \d+/,
    );
  });
});
