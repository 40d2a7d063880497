// Timeouts of activities: of one attempt, and of the whole call (semantics 11).

import { expect } from "vitest";
import {
  ActivityError,
  isPerdureError,
  orchestration,
  type Activity,
  type RunOptions,
} from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

/** Calls the activity once and returns the outcome and the elapsed time. */
function timing(work: Activity<string, unknown>, options: RunOptions) {
  return orchestration("main", async (ctx) => {
    const begun = ctx.now().getTime();
    const outcome = await ctx.run(work, "in", options).catch((error: unknown) => {
      if (!(error instanceof ActivityError)) throw error;
      return `${error.kind}: ${error.message} (${error.attempts})`;
    });
    return [outcome, ctx.now().getTime() - begun];
  });
}

scenario("an attempt over its timeout fails the call and aborts its signal with TIMEOUT", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, { timeout: "5s" });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const signal = work.visits[0]?.context.signal;
      await t.advance("4999ms");
      expect(signal?.aborted).toBe(false);
      await t.advance("1ms");
      expect(isPerdureError(signal?.reason, "TIMEOUT")).toBe(true);
      expect(await t.result(handle)).toEqual(["timeout: timeout: activity timed out (1)", 5_000]);
    },
  };
});

scenario("a result after the timeout is dropped without an event", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(work.activity, "a", { timeout: "1s" }).catch(() => "late");
    await ctx.sleep("1m");
    return first;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      const before = await t.story(handle);
      await work.finishVisit(0, "too late");
      expect(await t.story(handle)).toEqual(before);
      await t.advance("1m");
      expect(await t.result(handle)).toBe("late");
    },
  };
});

scenario("a timeout counts as a failed attempt and is retried", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, { timeout: "5s", attempts: 3 });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("5s");
      await work.finishVisit(0, "late, before the next attempt");
      await t.advance("100ms");
      await t.advance("5200ms");
      await work.finishVisit(1, "late, while the next attempt runs");
      expect(work.visits.map((visit) => visit.context.attempt)).toEqual([1, 2, 3]);
      await work.finish("in", "third time lucky");
      expect(await t.result(handle)).toEqual(["third time lucky", 10_300]);
    },
  };
});

scenario("onTimeout: false makes a timeout final", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, {
    timeout: "5s",
    retry: { maxAttempts: 3, onTimeout: false },
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(work.visits).toHaveLength(1);
      expect(await t.result(handle)).toEqual(["timeout: timeout: activity timed out (1)", 5_000]);
    },
  };
});

scenario("an attempt within its timeout leaves no pending timeout", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const value = await ctx.run(work.activity, "in", { timeout: "5s", scheduleToClose: "10s" });
    await ctx.sleep("1m");
    return value;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("4s");
      await work.finish("in", "in time");
      expect(await t.story(handle)).toHaveLength(4);
      await t.advance("1m");
      expect(await t.result(handle)).toBe("in time");
      expect(await t.story(handle)).toHaveLength(6);
    },
  };
});

scenario("scheduleToClose ends a call and aborts its running attempt", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, { scheduleToClose: "30s" });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("30s");
      const [outcome, elapsed] = await t.result(handle);
      expect(outcome).toContain("timeout: activity timed out (scheduleToClose)");
      expect(elapsed).toBe(30_000);
      expect(work.waiting).toEqual([]);
    },
  };
});

scenario("scheduleToClose ends a call that no worker can execute", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, { scheduleToClose: "90m" });
  return {
    register: [main], // the activity is registered nowhere
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("89m"); // past one hour, when the runtime reports unclaimed work
      expect(await handle.describe()).toMatchObject({ status: "running" });
      await t.advance("1m");
      const [outcome] = await t.result(handle);
      expect(outcome).toContain("timeout: activity timed out (scheduleToClose)");
      await t.deploy([work.activity, main]);
      expect(work.visits).toEqual([]); // the store removed the task at the timeout
    },
  };
});

scenario("scheduleToClose ends a call between two attempts", (t) => {
  const work = t.gate<string>("work");
  const retry = { maxAttempts: 9, backoff: { kind: "fixed", base: "20s" } } as const;
  const main = timing(work.activity, { scheduleToClose: "30s", retry });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("in", new Error("first"));
      await t.advance("20s");
      await work.fail("in", new Error("second"));
      await t.advance("1h");
      expect(work.visits).toHaveLength(2);
      expect((await t.result(handle))[1]).toBe(30_000);
    },
  };
});

scenario("scheduleToClose counts from the call, also across a restart", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, { scheduleToClose: "10m" });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("4m");
      await t.deploy();
      await t.advance("6m");
      expect((await t.result(handle))[1]).toBe(600_000);
    },
  };
});

for (const restart of [false, true]) {
  const where = restart ? "after a restart" : "in the same process";
  scenario(`the second call of a chain misses its own scheduleToClose, ${where}`, (t) => {
    const work = t.gate<string>("work");
    const main = orchestration("main", async (ctx) => {
      const options = { scheduleToClose: "30s" } as const;
      await ctx.run(work.activity, "first", options);
      const begun = ctx.now().getTime();
      const outcome = await ctx.run(work.activity, "second", options).catch(String);
      return [outcome, ctx.now().getTime() - begun];
    });
    return {
      register: [work.activity, main],
      run: async () => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.advance("20s");
        await work.finish("first", "done");
        if (restart) await t.deploy();
        await t.advance("29s"); // past the deadline of the first call, whose alarm is still set
        expect(await handle.describe()).toMatchObject({ status: "running" });
        await t.advance("1s");
        const [outcome, elapsed] = await t.result(handle);
        expect(outcome).toContain("timed out (scheduleToClose)");
        expect(elapsed).toBe(30_000);
        expect(work.waiting).toEqual([]);
      },
    };
  });
}

scenario("a deadline that passes during a pause takes effect after the resume", (t) => {
  const work = t.gate<string>("work");
  const main = timing(work.activity, { scheduleToClose: "30s" });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.pause("maintenance");
      await t.advance("1m");
      expect(await handle.describe()).toMatchObject({ status: "paused" });
      await handle.resume();
      await t.settle();
      expect((await t.result(handle))[0]).toContain("timed out (scheduleToClose)");
    },
  };
});

scenario("a handler that ignores its signal loses its slot after the grace period", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(work.activity, "deaf", { timeout: "1s" }).catch(() => "timed out");
    const second = await ctx.run(work.activity, "next");
    return [first, second];
  });
  return {
    register: [work.activity, main],
    runtime: { activityConcurrency: 1, cancelGraceMs: 5_000 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(work.waiting).toEqual([]); // the only slot is still taken
      await t.advance("5s");
      await work.finish("next", "done");
      expect(await t.result(handle)).toEqual(["timed out", "done"]);
    },
  };
});
