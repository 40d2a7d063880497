// Timers: they fire in due order and never early (P5).

import { expect } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("a timer fires at its due time and not before", () => {
  const main = orchestration("main", async (ctx) => {
    const begun = ctx.now().getTime();
    await ctx.sleep("90s");
    return ctx.now().getTime() - begun;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance(89_999);
      expect(await handle.describe()).toMatchObject({
        status: "running",
        waitingFor: [{ kind: "timer", sequence: 2, due: new Date(t.now() + 1) }],
      });
      await t.advance(1);
      expect(await t.result(handle)).toBe(90_000);
    },
  };
});

scenario("timers fire in the order of their due times, not of their calls", () => {
  const main = orchestration("main", async (ctx) => {
    const order: string[] = [];
    const note = (name: string) => (): void => void order.push(name);
    await ctx.all([
      ctx.sleep("3s").map(note("third")),
      ctx.sleep("1s").map(note("first")),
      ctx.sleep("2s").map(note("second")),
      ctx.sleep("1s").map(note("first too")),
    ]);
    return order;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("3s");
      expect(await t.result(handle)).toEqual(["first", "first too", "second", "third"]);
    },
  };
});

scenario("a sleep of zero is recorded and ends at once", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep(0);
    await ctx.sleep(new Date(0)); // long past
    return "awake";
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("awake");
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "TimerCreated",
        "TimerFired 2",
        "TimerCreated",
        "TimerFired 4",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("a sleep until a date ends at that date", () => {
  const until = new Date(Date.UTC(2026, 0, 3, 12));
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep(until);
    return ctx.now();
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("2d");
      expect((await handle.describe()).status).toBe("running");
      await t.advance("12h");
      expect(await t.result(handle)).toEqual(until);
    },
  };
});

scenario("a timer and an activity complete independently of each other", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const order: string[] = [];
    await ctx.all([
      ctx.run(work.activity, "w").map((value) => void order.push(value)),
      ctx.sleep("1m").map(() => void order.push("timer")),
    ]);
    return order;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const early = await t.client.start(main, undefined, { id: "early" });
      await work.finish("w", "work");
      await t.advance("1m");
      expect(await t.result(early)).toEqual(["work", "timer"]);
      const late = await t.client.start(main, undefined, { id: "late" });
      await t.advance("1m");
      await work.finish("w", "work");
      expect(await t.result(late)).toEqual(["timer", "work"]);
    },
  };
});

scenario("a cancelled timer never fires and does not delay the code", () => {
  const main = orchestration("main", async (ctx) => {
    const timer = ctx.sleep("1h");
    await ctx.sleep("1s");
    timer.cancel();
    const outcome = await timer.catch((error: unknown) => String(error));
    return [outcome, ctx.now().getTime()];
  });
  return {
    register: [main],
    run: async (t) => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("2h");
      expect(await t.result(handle)).toEqual([
        "CancelledError: cancelled: cancelled",
        begun + 1_000,
      ]);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "TimerCreated",
        "TimerCreated",
        "TimerFired 3",
        "TimerCancelled 2",
        "OrchestrationCompleted",
      ]);
    },
  };
});
