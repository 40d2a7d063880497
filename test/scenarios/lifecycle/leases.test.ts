// Leases with an expiry: the runtime renews them while its event loop turns, and loses them otherwise.

import { expect } from "vitest";
import { isPerdureError, orchestration, Perdure, type RuntimeOptions } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const SHORT: RuntimeOptions = { instanceLeaseMs: 3_000, taskLeaseMs: 3_000 };

scenario("renewal keeps the lease of a long activity, which runs once", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "long"));
  return {
    register: [work.activity, main],
    runtime: SHORT,
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const owner = t.process;
      await t.boot(); // a second process that could take over
      await t.advance("10m");
      expect(work.inputs).toEqual(["long"]);
      expect(work.waiting).toEqual(["long"]);
      await work.finish("long", "done");
      expect(await t.result(owner.client.get("i"))).toBe("done");
    },
  };
});

scenario("a frozen process loses its leases when they expire, and another takes over", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => [
    await ctx.run(work.activity, "a"),
    await ctx.run(work.activity, "b"),
  ]);
  return {
    register: [work.activity, main],
    runtime: { ...SHORT, pollIntervalMs: 1_000 },
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      t.crash();
      await t.boot();
      await t.advance("2s");
      expect(work.visits).toHaveLength(1);
      await t.advance("3s");
      expect(work.visits).toHaveLength(2);
      await work.finishVisit(1, "A");
      await work.finish("b", "B");
      expect(await t.result(t.client.get("i"))).toEqual(["A", "B"]);
    },
  };
});

scenario("all work completes with short leases", (t) => {
  const work = t.gate<number, number>("work");
  const child = orchestration("child", (ctx, n: number) => ctx.run(work.activity, n));
  const main = orchestration("main", async (ctx) => {
    const kids = await ctx.all([1, 2].map((n) => ctx.call(child, n)));
    await ctx.sleep("10s");
    return kids;
  });
  return {
    register: [work.activity, child, main],
    runtime: { instanceLeaseMs: 500, taskLeaseMs: 500, renewBufferMs: 250 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("30s");
      for (const n of [2, 1]) await work.finish(n, n * 10);
      await t.advance("10s");
      expect(await t.result(handle)).toEqual([10, 20]);
      expect(work.visits).toHaveLength(2);
    },
  };
});

scenario("failed renewals within the lease do not abort the activity", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "w"));
  return {
    register: [work.activity, main],
    runtime: SHORT,
    differs: {
      in: "times and logs",
      because: "failed renewals are logged, and the modes hold different leases",
    },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      t.process.line.failNext("renewTasks", { when: "before", times: 3 });
      t.process.line.failNext("renewInstances", { when: "before", times: 3 });
      await t.advance("10s");
      expect(work.aborts).toEqual([]);
      await work.finish("w", "done");
      expect(await t.result(handle)).toBe("done");
      expect(work.visits).toHaveLength(1);
    },
  };
});

scenario("contradictory, invalid and unknown runtime options are refused", {
  register: [],
  run: async (t) => {
    const bad: object[] = [
      { turnConcurrency: 0 },
      { pollIntervalMs: 1.5 },
      { beatMs: 1_000, staleMs: 1_000 },
      { instanceLeaseMs: 1_000, renewBufferMs: 1_000 },
      { shadowReplay: "sometimes" },
      { nonsense: true },
    ];
    for (const runtime of bad) {
      const opening = Perdure.open(t.store, { runtime, autoStart: false });
      const code = await opening.then(
        () => "accepted",
        (error: unknown) => (isPerdureError(error) ? error.code : error),
      );
      expect(code, JSON.stringify(runtime)).toBe("INVALID_ARGUMENT");
    }
  },
});
