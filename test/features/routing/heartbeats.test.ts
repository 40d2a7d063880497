// Heartbeats, end to end: they keep an attempt alive, and their details reach the next attempt (semantics 11).

import { expect, test } from "vitest";
import { activity, ActivityError, orchestration } from "../../../src/index.ts";
import type { TaskHeartbeat } from "../../../src/core/provider/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import type { World } from "../../scenarios/support/world.ts";

const MESSAGE = "timeout: activity heartbeat timed out";

/** Records the heartbeats written to the store, one list per call. */
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

scenario("an activity with regular heartbeats can run for any duration", (t) => {
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

scenario("an activity without heartbeats fails, and its signal is aborted with TIMEOUT", (t) => {
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

scenario("without a heartbeat the heartbeat timeout counts from the start of the attempt", (t) => {
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

scenario("a heartbeat timeout counts as a failed attempt and is retried", (t) => {
  const work = t.gate<string, string>("work", { heartbeatTimeout: "10s", attempts: 2 });
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

scenario("the next attempt receives the last details as values", (t) => {
  const work = t.gate<string, string>("work", { attempts: 3 });
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
      expect(last()).toBeUndefined(); // an attempt sees the details of the previous attempt only
      await work.fail("x", new Error("once"));
      await t.advance("1s");
      expect(last()).toEqual({ row: 2, at: new Date(5) });
      await work.fail("x", new Error("twice")); // this attempt sent no heartbeat
      await t.advance("1s");
      expect(last()).toEqual({ row: 2, at: new Date(5) });
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("the newest details are written at most once per second", (t) => {
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

scenario("a heartbeat without details writes nothing and keeps earlier details", (t) => {
  const work = t.gate<string, string>("work", { attempts: 2 });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      const calls = watchWrites(t);
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const { heartbeat } = work.visits[0]?.context ?? { heartbeat: () => undefined };
      heartbeat(); // destructured
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

scenario("details survive the death of their process", (t) => {
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

scenario("pending details are written when the runtime shuts down", (t) => {
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

scenario("heartbeats of an ended attempt are ignored", (t) => {
  const work = t.gate<string, string>("work", { timeout: "1s", attempts: 2 });
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

scenario("details that cannot be serialized are refused at the call", () => {
  const work = activity("work", (_: undefined, { heartbeat }) => {
    expect(() => heartbeat(() => 1)).toThrow();
    return "continued";
  });
  const main = orchestration("main", (ctx) => ctx.run(work));
  return {
    register: [work, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe("continued");
    },
  };
});

scenario("an unavailable store delays details and ends no activity", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    differs: { in: "times and logs", because: "store errors are logged at intervals" },
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
