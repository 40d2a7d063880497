// Sessions: activities of one session run on one worker.

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { failureOf, isWaitingFor, newStore, open, state } from "./support.ts";

const where = activity("where", async (name: string, { info }) => ({
  name,
  session: info.session,
  worker: info.worker,
}));
const names = (runs: readonly { readonly name: string }[]) => runs.map(({ name }) => name);

test("activities on a session complete", async () => {
  const main = orchestration("main", async (ctx) => [
    (await ctx.run(where, "first", { session: "s" })).name,
    (await ctx.run(where, "second", { session: "s" })).name,
  ]);
  const { client } = await open([main, where]);
  expect(await (await client.start(main)).result()).toEqual(["first", "second"]);
});

test("an activity sees the session it runs on", async () => {
  const main = orchestration("main", (ctx) => ctx.run(where, "x", { session: "mine" }));
  const { client } = await open([main, where]);
  expect((await (await client.start(main)).result()).session).toBe("mine");
});

test("an activity without a session sees none", async () => {
  const main = orchestration("main", (ctx) => ctx.run(where, "x"));
  const { client } = await open([main, where]);
  expect((await (await client.start(main)).result()).session).toBeUndefined();
});

test("activities of different sessions run in parallel", async () => {
  let running = 0;
  const both = Promise.withResolvers<void>();
  const meet = activity("meet", async (name: string) => {
    if (++running === 2) both.resolve();
    await both.promise; // each waits for the other
    return name;
  });
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.run(meet, "a", { session: "s-1" }), ctx.run(meet, "b", { session: "s-2" })]),
  );
  const { client } = await open([main, meet]);
  expect(await (await client.start(main)).result()).toEqual(["a", "b"]);
});

test("an orchestration can call activities with and without a session", async () => {
  const main = orchestration("main", async (ctx) => [
    await ctx.run(where, "with", { session: "s" }),
    await ctx.run(where, "without"),
    await ctx.run(where, "with again", { session: "s" }),
  ]);
  const { client } = await open([main, where]);
  const runs = await (await client.start(main)).result();
  expect(runs.map(({ session }) => session)).toEqual(["s", undefined, "s"]);
});

test("all activities of one session run on one of two workers", async () => {
  const store = newStore();
  const main = orchestration("main", (ctx) =>
    ctx.all(Array.from({ length: 10 }, (_, n) => ctx.run(where, `${n}`, { session: "s" }))),
  );
  const { client } = await open([main, where], { store });
  await open([main, where], { store });
  const runs = await (await client.start(main)).result();
  expect(names(runs)).toEqual(Array.from({ length: 10 }, (_, n) => `${n}`));
  expect(new Set(runs.map(({ worker }) => worker)).size).toBe(1);
});

test("an activity can have a default session", async () => {
  const pinned = activity("pinned", async (_: undefined, { info }) => info.session, {
    session: "default",
  });
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.run(pinned), ctx.run(pinned, undefined, { session: "other" })]),
  );
  const { client } = await open([main, pinned]);
  expect(await (await client.start(main)).result()).toEqual(["default", "other"]);
});

test("session options are checked when the runtime is created", async () => {
  const main = orchestration("main", (ctx) => ctx.run(where, "x", { session: "s" }));
  const runtime = { maxSessionsPerRuntime: 2, sessionIdleMs: 60_000, sessionLeaseMs: 20_000 };
  const { client } = await open([main, where], { runtime });
  expect((await (await client.start(main)).result()).name).toBe("x");
  const contradiction = { sessionIdleMs: 1_000, sessionLeaseMs: 20_000 };
  expect(await failureOf(open([], { runtime: contradiction }))).toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("a worker with a workerNodeId registers under that name", async () => {
  const main = orchestration("main", (ctx) => ctx.run(where, "x", { session: "s" }));
  const { client } = await open([main, where], { runtime: { workerNodeId: "node-a" } });
  expect((await (await client.start(main)).result()).session).toBe("s");
  expect((await client.runtimes()).map(({ nodeId }) => nodeId)).toEqual(["node-a"]);
});

test("two calls on a session and two without one are joined in order", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([
      ctx.run(where, "s-1", { session: "s" }),
      ctx.run(where, "plain-1"),
      ctx.run(where, "s-2", { session: "s" }),
      ctx.run(where, "plain-2"),
    ]),
  );
  const { client } = await open([main, where]);
  const runs = await (await client.start(main)).result();
  expect(names(runs)).toEqual(["s-1", "plain-1", "s-2", "plain-2"]);
});

test("two sessions of two calls each and two calls without one are joined in order", async () => {
  const sessions = ["s-1", "s-1", "s-2", "s-2", undefined, undefined];
  const main = orchestration("main", (ctx) =>
    ctx.all(
      sessions.map((session, index) =>
        ctx.run(where, `${index}`, session === undefined ? {} : { session }),
      ),
    ),
  );
  const { client } = await open([main, where]);
  const runs = await (await client.start(main)).result();
  expect(names(runs)).toEqual(["0", "1", "2", "3", "4", "5"]);
  expect(runs.map(({ session }) => session)).toEqual(sessions);
});

test("a session stays on its worker across continueAsNew", async () => {
  const store = newStore();
  const main = orchestration("main", async (ctx, workers: string[]): Promise<string[]> => {
    const { worker } = await ctx.run(where, "x", { session: "s" });
    const seen = [...workers, worker];
    return seen.length === 4 ? seen : ctx.continueAsNew(seen);
  });
  const { client } = await open([main, where], { store });
  await open([main, where], { store });
  const workers = await (await client.start(main, [])).result();
  expect(new Set(workers).size).toBe(1);
});

test("continueAsNew to another version stays on the worker of the session", async () => {
  const one = orchestration("handover", async (ctx, _: string): Promise<string> => {
    const { worker } = await ctx.run(where, "x", { session: "s" });
    return ctx.continueAsNew(worker, { version: "2.0.0" });
  });
  const two = orchestration(
    "handover",
    async (ctx, before: string) => {
      const { worker } = await ctx.run(where, "y", { session: "s" });
      return `${ctx.info.version} ${worker === before ? "same" : "other"} worker`;
    },
    { version: "2.0.0" },
  );
  const { client } = await open([one, two, where]);
  expect(await (await client.start(one, "")).result()).toBe("2.0.0 same worker");
});

test("the worker of a session keeps state in memory, and a new worker starts without it", async () => {
  const store = newStore();
  const worker = () => {
    const memory: string[] = [];
    return activity("remember", async (word: string) => [...(memory.push(word), memory)]);
  };
  const main = orchestration("main", async (ctx) => {
    await ctx.run("remember", "a", { session: "s" });
    const here = await ctx.run("remember", "b", { session: "s" });
    await ctx.waitFor("moved");
    const there = await ctx.run("remember", "c", { session: "s" });
    return { here, there };
  });
  const first = await open([main, worker()], { store });
  const handle = await first.client.start(main, undefined, { id: "i" });
  await state(handle, isWaitingFor("event"));
  await first.close();
  const second = await open([main, worker()], { store });
  await second.client.raise("i", "moved");
  expect(await second.client.get("i").result()).toEqual({ here: ["a", "b"], there: ["c"] });
});
