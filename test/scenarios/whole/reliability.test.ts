// An unavailable store: failed calls, lost replies, duplicate messages (P6, I6, I14).

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";
import type { World } from "../support/world.ts";

const BACKOFF = {
  in: "times and logs",
  because: "calls to an unavailable store are retried with backoff, which has random jitter",
} as const;

/** An orchestration with three activities, a timer and an event. `ran` lists the executed activities. */
function journey() {
  const ran: string[] = [];
  const act = activity("act", (name: string) => {
    ran.push(name);
    return name;
  });
  const main = orchestration("main", async (ctx) => {
    const a = await ctx.run(act, "a");
    await ctx.sleep("1m");
    const b = await ctx.run(act, "b");
    const c = await ctx.waitFor("c");
    return [a, b, c, await ctx.run(act, "d")];
  });
  return { ran, act, main };
}

function faultyJourney(
  injectFault: (t: World, stage: number) => void,
  expectedRuns?: readonly string[],
) {
  return () => {
    const { ran, act, main } = journey();
    return {
      register: [act, main],
      differs: BACKOFF,
      run: async (t: World) => {
        injectFault(t, 0);
        const starting = t.client.start(main, undefined, { id: "i" });
        await t.advance("10s");
        const handle = await starting;
        injectFault(t, 1);
        await t.advance("80s");
        injectFault(t, 2);
        const raising = handle.raise("c", "C");
        await t.advance("30s");
        await raising;
        await t.advance("1h");
        expect(await t.result(handle)).toEqual(["a", "b", "C", "d"]);
        expect(ran).toEqual(expectedRuns ?? ["a", "b", "d"]);
      },
    };
  };
}

scenario(
  "commits that fail before they are written are retried until they succeed",
  faultyJourney((t) => t.process.line.failNext("commit", { when: "before", times: 3 })),
);

scenario(
  "a commit that was written but returned an error is not written twice",
  faultyJourney((t) => t.process.line.failNext("commit", { when: "after" })),
);

scenario(
  "failed reads and leases are retried",
  faultyJourney((t) => {
    for (const call of ["leaseInstances", "leaseTasks", "takeMessages"] as const) {
      t.process.line.failNext(call, { when: "before", times: 2 });
    }
  }),
);

scenario("a client retries reads while the store is unavailable", () => {
  const main = orchestration("main", async () => "done");
  return {
    register: [main],
    differs: BACKOFF,
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      t.process.line.failNext("readInstance", { when: "before", times: 4 });
      t.process.line.failNext("readHistory", { when: "before", times: 4 });
      const asked = Promise.all([handle.result(), handle.describe(), handle.history()]);
      await t.advance("30s");
      const [result, info, history] = await asked;
      expect([result, info.status, history.length]).toEqual(["done", "completed", 2]);
    },
  };
});

scenario(
  "finding out whether a commit was written is retried too",
  faultyJourney((t) => {
    t.process.line.failNext("commit", { when: "after" });
    t.process.line.failNext("settle", { when: "before", times: 3 });
  }),
);

scenario("an unavailable store ends no instance, and user code sees no error (I8, P6)", () => {
  const caught: unknown[] = [];
  const { act } = journey();
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.run(act, "a");
    } catch (error) {
      caught.push(error);
      throw error;
    }
  });
  return {
    register: [act, main],
    differs: BACKOFF,
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      t.process.line.failNext("commit", { when: "before", times: 50 });
      await t.advance("1m");
      expect((await handle.describe()).status).not.toBe("failed");
      await t.advance("5m");
      expect(await t.result(handle)).toBe("a");
      expect(caught).toEqual([]);
      expect(t.messages.some((line) => line.includes("store unavailable"))).toBe(true);
    },
  };
});

scenario("a duplicate completion changes nothing", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(work.activity, "w");
    return [first, await ctx.waitFor("x")];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("w", "once");
      const before = await t.story(handle);
      const record = await t.store.readInstance("i");
      const outcome = { kind: "ActivityCompleted", scheduled: 2, output: '"twice"', attempts: 1 };
      const task = { key: record?.key ?? 0, execution: 1, sequence: 2, token: 1 };
      await t.store.commit([{ kind: "completion", task, outcome: JSON.stringify(outcome) }]);
      expect(await t.story(handle)).toEqual(before);
      await handle.raise("x", "on");
      expect(await t.result(handle)).toEqual(["once", "on"]);
    },
  };
});

scenario("two raises with one request id deliver one event, without one they deliver two", () => {
  const main = orchestration("main", async (ctx) => [
    await ctx.waitFor("x"),
    await ctx.waitFor("x"),
    await ctx.waitFor("x"),
  ]);
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await Promise.all([
        handle.raise("x", 1, { requestId: "r" }),
        handle.raise("x", 1, { requestId: "r" }),
        handle.raise("x", 2),
        handle.raise("x", 2),
      ]);
      expect(await t.result(handle)).toEqual([1, 2, 2]);
    },
  };
});

scenario(
  "a process that lost its leases writes nothing, and the new owner completes the work (P8)",
  (t) => {
    const work = t.gate<string, string>("work");
    const main = orchestration("main", async (ctx) => [
      await ctx.run(work.activity, "a"),
      await ctx.run(work.activity, "b"),
    ]);
    return {
      register: [work.activity, main],
      run: async () => {
        await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        const first = t.process;
        const second = await t.boot();
        await t.store.expireRuntime({ id: first.perdure.runtime.id, staleMs: null });
        await t.advance("4h"); // the second process takes over; the first notices at its next heartbeat
        await work.finishVisit(0, "late result of the first process");
        expect(await t.story(second.client.get("i"))).toEqual([
          "OrchestrationStarted",
          "ActivityScheduled work",
        ]);
        await work.finish("a", "A");
        await work.finish("b", "B");
        expect(await t.result(second.client.get("i"))).toEqual(["A", "B"]);
      },
    };
  },
);

scenario("a result that arrives during a turn without changes is not lost", () => {
  const retry = { maxAttempts: 2, backoff: { kind: "fixed", base: 50 } } as const;
  const fails = activity("fails", (n: number) => Promise.reject(new Error(`no ${n}`)), { retry });
  const undo = activity("undo", () => "undone");
  // Both calls use up their attempts at the same time. The first failure cancels the second call before its outcome arrives.
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.all([ctx.run(fails, 1), ctx.run(fails, 2)]);
    } catch {
      return ctx.run(undo);
    }
  });
  return {
    register: [fails, undo, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(await t.result(handle)).toBe("undone");
    },
  };
});
