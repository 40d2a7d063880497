// Races: history decides the winner; the losers are cancelled, durably and in schedule order (semantics 4, 7a).

import { expect } from "vitest";
import { ActivityError, CancelledError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const eventOrTimer = orchestration("eventOrTimer", async (ctx) => {
  const first = await ctx.race({ approval: ctx.waitFor("approval"), late: ctx.sleep("1h") });
  return first.key === "late" ? "expired" : `approved by ${String(first.value)}`;
});

scenario("an event that arrives before the timer fires wins, and the timer is cancelled", {
  register: [eventOrTimer],
  run: async (t) => {
    const handle = await t.client.start(eventOrTimer, undefined, { id: "i" });
    await t.advance("59m");
    await handle.raise("approval", "ada");
    expect(await t.result(handle)).toBe("approved by ada");
    expect(await t.story(handle)).toEqual([
      "OrchestrationStarted",
      "EventSubscribed approval",
      "TimerCreated",
      "EventReceived approval",
      "TimerCancelled 3",
      "OrchestrationCompleted",
    ]);
  },
});

scenario("a timer that fires before the event arrives wins, and the wait is cancelled", {
  register: [eventOrTimer],
  run: async (t) => {
    const handle = await t.client.start(eventOrTimer, undefined, { id: "i" });
    await t.advance("1h");
    expect(await t.result(handle)).toBe("expired");
    expect((await t.story(handle)).slice(3)).toEqual([
      "TimerFired 3",
      "EventSubscriptionCancelled 2",
      "OrchestrationCompleted",
    ]);
  },
});

scenario("when an event and a timer are both due, the order of the store decides", {
  register: [eventOrTimer],
  run: async (t) => {
    const handle = await t.client.start(eventOrTimer, undefined, { id: "i" });
    await t.settle();
    await t.stop();
    await t.advance("59m");
    await handle.raise("approval", "ada"); // visible before the timer is
    await t.advance("1h");
    await t.boot();
    expect(await t.result(handle)).toBe("approved by ada");
  },
});

scenario("an activity that loses to a timer is aborted, and its result is dropped", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ work: ctx.run(work.activity, "w"), late: ctx.sleep("30s") });
    await ctx.sleep("1m");
    return first.key;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("30s");
      expect(work.aborts).toEqual([expect.any(CancelledError)]);
      await work.finishVisit(0, "too late");
      await t.advance("1m");
      expect(await t.result(handle)).toBe("late");
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled work",
        "TimerCreated",
        "TimerFired 3",
        "ActivityCancelRequested 2",
        "TimerCreated",
        "TimerFired 6",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("an activity that ends before the timer is the value of the race", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.race([ctx.run(work.activity, "w"), ctx.sleep("30s")]),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("w", "fast");
      await t.advance("1h");
      expect(await t.result(handle)).toEqual({ index: 0, value: "fast" });
    },
  };
});

scenario("when both tasks are ready at once, the first in the list wins", () => {
  const main = orchestration("main", async (ctx) => {
    const winners: number[] = [];
    await ctx.sleep("1m"); // both messages are in the mailbox by then
    winners.push((await ctx.race([ctx.waitFor("a"), ctx.waitFor("b")])).index);
    await ctx.sleep("1m");
    winners.push((await ctx.race([ctx.waitFor("d"), ctx.waitFor("c")])).index);
    return winners;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (const name of ["b", "a", "c", "d"]) await handle.raise(name);
      await t.advance("2m");
      expect(await t.result(handle)).toEqual([0, 0]);
    },
  };
});

scenario("a race of three cancels the losers in schedule order", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.race({
      c: ctx.run(work.activity, "c"),
      a: ctx.run(work.activity, "a"),
      b: ctx.run(work.activity, "b"),
    }),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("a", "second in the list");
      expect(await t.result(handle)).toEqual({ key: "a", value: "second in the list" });
      expect((await t.story(handle)).slice(4)).toEqual([
        "ActivityCompleted 3",
        "ActivityCancelRequested 2",
        "ActivityCancelRequested 4",
        "OrchestrationCompleted",
      ]);
      expect(work.waiting).toEqual([]);
    },
  };
});

scenario("the first outcome decides a race, also if it is a failure", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.race([ctx.run(work.activity, "a"), ctx.run(work.activity, "b")]);
    } catch (error) {
      return error instanceof ActivityError ? error.message : "other";
    }
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("b", new Error("b broke"));
      expect(await t.result(handle)).toBe("b broke");
      expect(work.waiting).toEqual([]);
    },
  };
});
