// Heartbeats, end to end: a sign of life and what the next attempt is told (semantics 11).

import { expect, test } from "vitest";
import { activity, ActivityError, orchestration } from "../../src/index.ts";
import type { TaskHeartbeat } from "../../src/core/provider/index.ts";
import { scenario } from "../scenarios/support/scenario.ts";
import type { World } from "../scenarios/support/world.ts";

const MESSAGE = "timeout: activity heartbeat timed out";

/** Everything that is written, in calls. */
function watchWrites(t: World): TaskHeartbeat[][] {
  const calls: TaskHeartbeat[][] = [];
  const { store } = t;
  const write = store.heartbeatTasks.bind(store);
  store.heartbeatTasks = (beats) => {
    calls.push([...beats]);
    return write(beats);
  };
  return calls;
}

scenario("an activity that beats in time may take as long as it likes", (t) => {
  const work = t.gate<string, string>("work", { heartbeatTimeout: "10s" });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      for (let i = 0; i < 30; i++) {
        await t.advance("9s");
        work.visits[0]?.context.heartbeat();
      }
      expect(work.waiting).toEqual(["x"]);
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("an activity that falls silent has failed, and its signal says so", (t) => {
  const work = t.gate<string, string>("work", { heartbeatTimeout: "10s" });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("9s");
      work.visits[0]?.context.heartbeat("alive");
      await t.advance("9.9s");
      expect(work.aborts).toEqual([]);
      await t.advance("200ms");
      expect(work.aborts).toMatchObject([{ code: "TIMEOUT", message: MESSAGE }]);
      const events = await t.events(t.client.get("i"));
      expect(events[2]).toMatchObject({
        kind: "ActivityFailed",
        attempts: 1,
        failure: { kind: "timeout", message: MESSAGE },
      });
    },
  };
});

scenario("an activity that never beats is silent from its beginning", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.run(work.activity, "x", { heartbeatTimeout: "10s" });
    } catch (error) {
      return error instanceof ActivityError ? error.message : "something else";
    }
  });
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      expect(await t.result(t.client.get("i"))).toContain("heartbeat timed out");
    },
  };
});

scenario("silence is a failed attempt: it follows the retry policy", (t) => {
  const work = t.gate<string, string>("work", { heartbeatTimeout: "10s", retry: 2 });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("11s");
      expect(work.visits).toHaveLength(2);
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("the next attempt is told the last details, as values", (t) => {
  const work = t.gate<string, string>("work", { retry: 3 });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const last = () => work.visits.at(-1)?.context.lastHeartbeat;
      expect(last()).toBeUndefined();
      work.visits[0]?.context.heartbeat({ row: 1 });
      work.visits[0]?.context.heartbeat({ row: 2, at: new Date(5) });
      expect(last()).toBeUndefined(); // an attempt sees what came before it
      await work.fail("x", new Error("once"));
      await t.advance("1s");
      expect(last()).toEqual({ row: 2, at: new Date(5) });
      await work.fail("x", new Error("twice")); // without a beat of its own
      await t.advance("1s");
      expect(last()).toEqual({ row: 2, at: new Date(5) });
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("details are written at most once a second, the newest ones", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all(["a", "b"].map((input) => ctx.run(work.activity, input))),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const calls = watchWrites(t);
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (let i = 0; i < 50; i++) {
        for (const { context } of work.visits) context.heartbeat(i);
        await t.advance(100);
      }
      await t.advance("1s");
      expect(calls.length).toBeGreaterThanOrEqual(5);
      expect(calls.length).toBeLessThanOrEqual(7);
      expect(calls.at(-1)?.map(({ details }) => details)).toEqual(["49", "49"]);
      for (const input of ["a", "b"]) await work.finish(input, input);
      await t.advance("1m");
      expect(calls.length).toBeLessThanOrEqual(7);
    },
  };
});

scenario("a beat without details writes nothing and forgets nothing", (t) => {
  const work = t.gate<string, string>("work", { retry: 2 });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      const calls = watchWrites(t);
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const { heartbeat } = work.visits[0]?.context ?? { heartbeat: () => undefined };
      heartbeat(); // taken apart
      await t.advance("5s");
      expect(calls).toEqual([]);
      heartbeat("kept");
      heartbeat();
      await work.fail("x", new Error("once"));
      await t.advance("1s");
      expect(work.visits[1]?.context.lastHeartbeat).toBe("kept");
      await work.finish("x", "done");
    },
  };
});

scenario("details outlive the process that gave them", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      work.visits[0]?.context.heartbeat("page 7");
      await t.advance("1s");
      await t.crashAndRecover();
      expect(work.visits[1]?.context.lastHeartbeat).toBe("page 7");
      await work.finishVisit(1, "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("details that wait are written when the runtime shuts down", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (const page of [1, 2]) {
        work.visits[0]?.context.heartbeat(page);
        await t.settle();
      }
      await t.deploy();
      expect(work.visits[1]?.context).toMatchObject({ lastHeartbeat: 2, attempt: 1 });
      await work.finishVisit(1, "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("beats of an attempt that is over change nothing", (t) => {
  const work = t.gate<string, string>("work", { timeout: "1s", retry: 2 });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      const calls = watchWrites(t);
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("1.5s");
      expect(work.visits).toHaveLength(2);
      work.visits[0]?.context.heartbeat("late");
      await t.settle();
      expect(calls).toEqual([]);
      await work.finishVisit(1, "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("details that cannot be stored are refused where they are given", () => {
  const work = activity("work", (_: undefined, { heartbeat }) => {
    expect(() => heartbeat(() => 1)).toThrow();
    return "went on";
  });
  const main = orchestration("main", (ctx) => ctx.run(work));
  return {
    register: [work, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe("went on");
    },
  };
});

scenario("a store in trouble delays details and ends nothing", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    differs: { in: "times and logs", because: "trouble is logged once in a while" },
    run: async () => {
      const calls = watchWrites(t);
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      t.process.line.failNext("heartbeatTasks", { when: "before" });
      work.visits[0]?.context.heartbeat("again");
      await t.advance("3s");
      expect(calls.flat().map(({ details }) => details)).toEqual(['"again"']);
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

test.each([0, -1, "soon"])("a heartbeatTimeout of %s is refused", (heartbeatTimeout) => {
  const define = () => activity("a", () => 1, { heartbeatTimeout: heartbeatTimeout as number });
  expect(define).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
