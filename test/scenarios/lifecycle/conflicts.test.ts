// Starts with an existing id or a repeated request id (semantics 1).

import { expect } from "vitest";
import { isPerdureError, orchestration, type StartOptions } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

const echo = orchestration("echo", async (ctx, input: string) => {
  await ctx.sleep("1m");
  return `${input} in execution ${ctx.info.executionId}`;
});

scenario("fail: the second start of an id is refused and changes nothing", {
  register: [echo],
  run: async (t) => {
    const handle = await t.client.start(echo, "first", { id: "i" });
    expect(await t.client.start(echo, "second", { id: "i" }).catch(codeOf)).toBe("INSTANCE_EXISTS");
    await t.advance("1m");
    expect(await t.result(handle)).toBe("first in execution 1");
    expect(await t.client.start(echo, "third", { id: "i" }).catch(codeOf)).toBe("INSTANCE_EXISTS");
  },
});

scenario("of several concurrent starts with one id only one succeeds", {
  register: [echo],
  run: async (t) => {
    const starts = ["a", "b", "c"].map((input) => t.client.start(echo, input, { id: "i" }));
    const outcomes = await Promise.allSettled(starts);
    expect(outcomes.map((one) => one.status)).toEqual(["fulfilled", "rejected", "rejected"]);
    await t.advance("1m");
    expect(await t.result(t.client.get(echo, "i"))).toBe("a in execution 1");
    expect(await t.client.get("i").executions()).toHaveLength(1);
  },
});

scenario("useExisting: returns the existing instance, running or ended, and ignores the input", {
  register: [echo],
  run: async (t) => {
    await t.client.start(echo, "first", { id: "i" });
    const options: StartOptions = { id: "i", onConflict: "useExisting" };
    const second = await t.client.start(echo, "second", options);
    await t.advance("1m");
    expect(await t.result(second)).toBe("first in execution 1");
    const third = await t.client.start(echo, "third", options);
    expect(await t.result(third)).toBe("first in execution 1");
  },
});

scenario("restart: a running instance is refused, an ended instance begins its next execution", {
  register: [echo],
  run: async (t) => {
    const options: StartOptions = { id: "i", onConflict: "restart" };
    const handle = await t.client.start(echo, "first", options);
    expect(await t.client.start(echo, "no", options).catch(codeOf)).toBe("INSTANCE_RUNNING");
    await t.advance("1m");
    await t.client.start(echo, "second", options);
    await t.advance("1m");
    expect(await t.result(handle)).toBe("second in execution 2"); // the handle follows the instance
    expect(await handle.result({ execution: 1 })).toBe("first in execution 1");
    expect(await handle.executions()).toMatchObject([
      { execution: 1, status: "completed" },
      { execution: 2, status: "completed" },
    ]);
  },
});

scenario("terminateExisting: terminates the running execution and begins the next one", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx, name: string) => ctx.run(work.activity, name));
  return {
    register: [work.activity, main],
    run: async () => {
      const options: StartOptions = { id: "i", onConflict: "terminateExisting" };
      const handle = await t.client.start(main, "old", options);
      await t.settle();
      // One group commits both, so no turn takes the event before its execution is terminated.
      const raised = handle.raise("unread", "for the old execution");
      await t.client.start(main, "new", options);
      await raised;
      await t.settle();
      expect(work.aborts).toHaveLength(1);
      await work.finishVisit(0, "late result of the old execution");
      expect((await handle.describe()).status).toBe("running");
      await work.finish("new", "done");
      expect(await t.result(handle)).toBe("done");
      const ended = await handle.result({ execution: 1 }).catch((error: unknown) => error);
      expect(ended).toMatchObject({ kind: "terminated" });
      expect(await t.story(handle)).not.toContain("EventReceived unread");
    },
  };
});

scenario("a restarted instance has a new seed and new idempotency keys", (t) => {
  const work = t.gate<null>("work");
  const main = orchestration("main", async (ctx) => {
    await ctx.run(work.activity, null);
    return ctx.uuid();
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const options: StartOptions = { id: "i", onConflict: "restart" };
      const handle = await t.client.start(main, undefined, options);
      await work.finish(null, null);
      const first = await t.result(handle);
      await t.client.start(main, undefined, options);
      await work.finish(null, null);
      expect(await t.result(handle)).not.toBe(first);
      const [a, b] = work.visits.map((visit) => visit.context.idempotencyKey);
      expect(a).not.toBe(b);
    },
  };
});

scenario("a start with a repeated request id has no further effect", {
  register: [echo],
  run: async (t) => {
    const options: StartOptions = { id: "i", requestId: "r1", onConflict: "restart" };
    await t.client.start(echo, "first", options);
    await t.client.start(echo, "repeated while it runs", options);
    await t.advance("1m");
    const handle = await t.client.start(echo, "repeated after its end", options);
    expect(await t.result(handle)).toBe("first in execution 1");
    await t.client.start(echo, "second", { ...options, requestId: "r2" });
    await t.advance("1m");
    expect(await t.result(handle)).toBe("second in execution 2");
  },
});
