// Sessions, end to end: activities of one session run on its owner (semantics 15; duroxide's session tests).

import { expect, test } from "vitest";
import {
  activity,
  orchestration,
  Perdure,
  type ActivityContext,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";

const where = activity("where", (_: undefined, { info }: ActivityContext) => info.worker);
const SHORT: RuntimeOptions = { sessionLeaseMs: 3_000, sessionIdleMs: 10_000 };
const MODES_DIFFER = {
  in: "everything",
  because: "which of two runtimes polls first depends on timing",
} as const;

scenario("the activities of one session run on one worker, although there are others", () => {
  const main = orchestration("main", (ctx) =>
    ctx.all(Array.from({ length: 20 }, () => ctx.run(where, undefined, { session: "s" }))),
  );
  return {
    register: [where, main],
    runtime: { leaseBatch: 2 },
    differs: MODES_DIFFER,
    run: async (t) => {
      await t.boot();
      await t.client.start(main, undefined, { id: "i" });
      const workers = await t.result(t.client.get("i"));
      expect(workers).toHaveLength(20);
      expect(new Set(workers as string[]).size).toBe(1);
    },
  };
});

scenario("history records the session of a call, and the activity sees it", () => {
  const show = activity("show", (_: undefined, { info }: ActivityContext) => info.session ?? "-");
  const main = orchestration("main", async (ctx) => [
    await ctx.run(show, undefined, { session: "cart 7" }),
    await ctx.run(show),
  ]);
  return {
    register: [show, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toEqual(["cart 7", "-"]);
      const events = await t.events(t.client.get("i"));
      expect(events[1]).toMatchObject({ kind: "ActivityScheduled", session: "cart 7" });
    },
  };
});

scenario("a session is shared by all instances and executions", () => {
  const main = orchestration("main", async (ctx, left: number): Promise<string> => {
    const worker = await ctx.run(where, undefined, { session: "shared" });
    return left === 0 ? worker : ctx.continueAsNew(left - 1);
  });
  return {
    register: [where, main],
    differs: MODES_DIFFER,
    run: async (t) => {
      const first = t.process;
      await t.client.start(main, 2, { id: "a" });
      await t.settle();
      await t.boot();
      await t.client.start(main, 2, { id: "b" });
      expect(await t.result(t.client.get("a"))).toBe(first.perdure.runtime.id);
      expect(await t.result(t.client.get("b"))).toBe(first.perdure.runtime.id);
    },
  };
});

scenario("at capacity the next session waits until another session ends", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all(
      ["s", "t", "s", "u"].map((session, i) =>
        ctx.run(work.activity, `${session}${i}`, { session }),
      ),
    ),
  );
  return {
    register: [work.activity, main],
    runtime: { maxSessionsPerRuntime: 1 },
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.waiting).toEqual(["s0", "s2"]);
      await work.finish("s0", "-");
      expect(work.waiting).toEqual(["s2"]);
      await work.finish("s2", "-");
      expect(work.waiting).toEqual(["t1"]);
      await work.finish("t1", "-");
      await work.finish("u3", "-");
      expect(await t.result(t.client.get("i"))).toHaveLength(4);
    },
  };
});

scenario("at capacity a session that waits is served between the activities of another", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx, session: string) => {
    for (let i = 0; i < 3; i++) await ctx.run(work.activity, `${session}${i}`, { session });
  });
  return {
    register: [work.activity, main],
    runtime: { maxSessionsPerRuntime: 1 },
    run: async () => {
      await t.client.start(main, "s", { id: "i" });
      await t.settle();
      await t.client.start(main, "t", { id: "j" });
      await t.settle();
      const order: string[] = [];
      for (let i = 0; i < 6; i++) {
        const [input = ""] = work.waiting;
        order.push(input);
        await t.advance(10);
        await work.finish(input, "-");
      }
      expect(order.slice(0, 4).map((input) => input[0])).toEqual(["s", "t", "s", "t"]);
      await t.result(t.client.get("i"));
      await t.result(t.client.get("j"));
    },
  };
});

scenario("an instance continues although its session is lost between two activities", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const results: string[] = [];
    for (const input of ["1", "2", "3"]) {
      results.push(await ctx.run(work.activity, input, { session: "s" }));
    }
    return results;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await work.finish("1", "one");
      await t.store.releaseSessions(t.process.perdure.runtime.id);
      await work.finish("2", "two");
      await t.advance("2s");
      expect(work.waiting).toEqual(["3"]);
      await work.finish("3", "three");
      expect(await t.result(t.client.get("i"))).toEqual(["one", "two", "three"]);
      expect(work.visits).toHaveLength(3);
    },
  };
});

scenario("activities without a session run although all session slots are in use", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all([
      ctx.run(work.activity, "s", { session: "s" }),
      ctx.run(work.activity, "t", { session: "t" }),
      ctx.run(work.activity, "plain"),
    ]),
  );
  return {
    register: [work.activity, main],
    runtime: { maxSessionsPerRuntime: 1 },
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.waiting.toSorted()).toEqual(["plain", "s"]);
      for (const input of ["plain", "s", "t"]) await work.finish(input, input);
      expect(await t.result(t.client.get("i"))).toEqual(["s", "t", "plain"]);
    },
  };
});

scenario("a runtime takes sessions that exceed the capacity of another runtime", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all(["s", "t"].map((session) => ctx.run(work.activity, session, { session }))),
  );
  return {
    register: [work.activity, main],
    runtime: { maxSessionsPerRuntime: 1 },
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.waiting).toEqual(["s"]);
      await t.boot();
      expect(work.waiting).toEqual(["s", "t"]);
      expect(new Set(work.visits.map(({ context }) => context.info.worker)).size).toBe(2);
      for (const input of ["s", "t"]) await work.finish(input, input);
      expect(await t.result(t.client.get("i"))).toEqual(["s", "t"]);
    },
  };
});

scenario("a runtime with maxSessionsPerRuntime: 0 runs no session activities", () => {
  const main = orchestration("main", (ctx) => ctx.run(where, undefined, { session: "s" }));
  return {
    register: [where, main],
    runtime: { maxSessionsPerRuntime: 0 },
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await expect(t.result(t.client.get("i"))).rejects.toMatchObject({ code: "TIMEOUT" });
      const other = await t.boot(undefined, { maxSessionsPerRuntime: 1 });
      expect(await t.result(t.client.get("i"))).toBe(other.perdure.runtime.id);
    },
  };
});

scenario("a retry stays on the worker of its session", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.run(work.activity, "x", { session: "s", attempts: 3 }),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.boot();
      for (let i = 0; i < 2; i++) {
        await work.fail("x", new Error("again"));
        await t.advance("2s");
      }
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
      expect(new Set(work.visits.map(({ context }) => context.info.worker)).size).toBe(1);
      expect(work.visits).toHaveLength(3);
    },
  };
});

scenario("a worker must match both the session and the tags", () => {
  const main = orchestration("main", (ctx) =>
    ctx.run(where, undefined, { session: "s", tags: "gpu" }),
  );
  return {
    register: [where, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await expect(t.result(t.client.get("i"))).rejects.toMatchObject({ code: "TIMEOUT" });
      const gpu = await t.boot(undefined, { tags: { tags: ["gpu"], untagged: false } });
      expect(await t.result(t.client.get("i"))).toBe(gpu.perdure.runtime.id);
    },
  };
});

/** Runs two activities of one session with a wait between them, and returns their workers. */
const twice = orchestration("twice", async (ctx) => {
  const first = await ctx.run(where, undefined, { session: "s" });
  await ctx.waitFor("go");
  return [first, await ctx.run(where, undefined, { session: "s" })];
});

scenario("a session moves when its runtime shuts down", () => ({
  register: [where, twice],
  run: async (t) => {
    const first = t.process;
    await t.client.start(twice, undefined, { id: "i" });
    await t.settle();
    const second = await t.boot();
    await t.stop(first);
    expect(await t.store.listSessions()).toEqual([]);
    await t.client.get("i").raise("go");
    const ids = [first.perdure.runtime.id, second.perdure.runtime.id];
    expect(await t.result(t.client.get("i"))).toEqual(ids);
  },
}));

scenario("a session moves when its runtime dies", () => ({
  register: [where, twice],
  run: async (t) => {
    const first = t.process;
    await t.client.start(twice, undefined, { id: "i" });
    await t.settle();
    const second = await t.crashAndRecover();
    await t.client.get("i").raise("go");
    const ids = [first.perdure.runtime.id, second.perdure.runtime.id];
    expect(await t.result(t.client.get("i"))).toEqual(ids);
  },
}));

scenario("a session in use is kept for any duration of its activity", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "long", { session: "s" }));
  return {
    register: [work.activity, main],
    runtime: SHORT,
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("10m");
      const owner = t.process.perdure.runtime.id;
      const [session] = await t.store.listSessions();
      expect(session).toMatchObject({ id: "s", owner });
      expect(session?.until).toBeGreaterThan(t.now());
      await work.finish("long", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("an idle session is released after its idle time, not before", () => ({
  register: [where, twice],
  runtime: SHORT,
  run: async (t) => {
    await t.client.start(twice, undefined, { id: "i" });
    await t.advance("9s");
    const isHeld = async () => (await t.store.listSessions()).some(({ until }) => until > t.now());
    expect(await isHeld()).toBe(true);
    await t.advance("5s");
    expect(await isHeld()).toBe(false);
    await t.client.get("i").raise("go");
    expect(await t.result(t.client.get("i"))).toHaveLength(2);
  },
}));

scenario("a task of a dead runtime's session is leased as soon as the session expires", (t) => {
  const main = orchestration("main", (ctx) => ctx.run(where, undefined, { session: "s" }));
  return {
    register: [where, main],
    runtime: SHORT,
    run: async () => {
      const first = t.process;
      await t.client.start(main, undefined, { id: "a" });
      await t.settle();
      const second = await t.boot();
      t.crash(first);
      await t.client.start(main, undefined, { id: "b" });
      await t.advance(2_999);
      await expect(t.result(t.client.get("b"))).rejects.toMatchObject({ code: "TIMEOUT" });
      await t.advance(1);
      expect(await t.result(t.client.get("b"))).toBe(second.perdure.runtime.id);
    },
  };
});

scenario("runtimes of one node share their sessions, and the last runtime releases them", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all(["1", "2"].map((input) => ctx.run(work.activity, input, { session: "s" }))),
  );
  return {
    register: [work.activity, main],
    runtime: { workerNodeId: "node", activityConcurrency: 1 },
    run: async () => {
      const first = t.process;
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.waiting).toEqual(["1"]);
      await t.boot();
      expect(work.waiting).toEqual(["1", "2"]);
      for (const input of ["1", "2"]) await work.finish(input, input);
      expect(await t.result(t.client.get("i"))).toEqual(["1", "2"]);
      await t.stop(first);
      expect(await t.store.listSessions()).toMatchObject([{ id: "s", owner: "node" }]);
      await t.stop();
      expect(await t.store.listSessions()).toEqual([]);
      await t.boot();
    },
  };
});

scenario("expired sessions are removed after sessionCleanupMs", () => ({
  register: [where, twice],
  runtime: { ...SHORT, sessionCleanupMs: 60_000, pollIntervalMs: 1_000 },
  run: async (t) => {
    await t.client.start(twice, undefined, { id: "i" });
    await t.advance("30s");
    expect(await t.store.listSessions()).toHaveLength(1);
    await t.advance("32s");
    expect(await t.store.listSessions()).toEqual([]);
    await t.client.get("i").raise("go");
    expect(await t.result(t.client.get("i"))).toHaveLength(2);
  },
}));

test.each<[string, unknown, string]>([
  ["an empty session", "", "INVALID_ARGUMENT"],
  ["a number", 7, "INVALID_ARGUMENT"],
  ["257 bytes", "x".repeat(257), "LIMIT_EXCEEDED"],
])("%s is refused as a session", (_, session, code) => {
  const define = () => activity("a", () => 1, { session: session as string });
  expect(define).toThrow(expect.objectContaining({ code }));
});

test("a sessionIdleMs below sessionLeaseMs is refused", async () => {
  const runtime = { sessionIdleMs: 1_000 };
  const opened = Perdure.open(":memory:", { runtime });
  await expect(opened).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});
