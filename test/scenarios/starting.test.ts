// Starting: ids, conflicts, repeated requests, delays (semantics 1, 2).

import { expect } from "vitest";
import {
  isPerdureError,
  orchestration,
  type StandardSchema,
  type StartOptions,
} from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

const echo = orchestration("echo", async (ctx, input: string) => {
  await ctx.sleep("1m");
  return `${input} in execution ${ctx.info.executionId}`;
});

scenario("an instance is there, pending, when its start has returned", {
  register: [echo],
  run: async (t) => {
    await t.stop();
    const handle = await t.client.start(echo, "x", { id: "i", priority: 1 });
    expect(await handle.describe()).toMatchObject({
      ...{ id: "i", name: "echo", version: "1.0.0", status: "pending", execution: 1 },
      ...{ priority: 1, waitingFor: [], attributes: {} },
    });
    await t.boot();
    expect(await handle.describe()).toMatchObject({ status: "running" });
    await t.advance("1m");
    expect(await t.result(handle)).toBe("x in execution 1");
  },
});

scenario("an id that is not given is made up, and different each time", {
  register: [echo],
  run: async (t) => {
    const a = await t.client.start(echo, "a");
    const b = await t.client.start(echo, "b");
    expect(a.id).not.toBe(b.id);
    await t.advance("1m");
    expect(await t.result(b)).toBe("b in execution 1");
  },
});

scenario("fail: the second start of an id is refused, and changes nothing", {
  register: [echo],
  run: async (t) => {
    const handle = await t.client.start(echo, "first", { id: "i" });
    expect(await t.client.start(echo, "second", { id: "i" }).catch(codeOf)).toBe("INSTANCE_EXISTS");
    await t.advance("1m");
    expect(await t.result(handle)).toBe("first in execution 1");
    expect(await t.client.start(echo, "third", { id: "i" }).catch(codeOf)).toBe("INSTANCE_EXISTS");
  },
});

scenario("two racing starts of one id have one winner", {
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

scenario("useExisting: the same handle, running or ended; the input is ignored", {
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

scenario("restart: a running one is refused, an ended one begins its next execution", {
  register: [echo],
  run: async (t) => {
    const options: StartOptions = { id: "i", onConflict: "restart" };
    const handle = await t.client.start(echo, "first", options);
    expect(await t.client.start(echo, "no", options).catch(codeOf)).toBe("INSTANCE_RUNNING");
    await t.advance("1m");
    await t.client.start(echo, "second", options);
    await t.advance("1m");
    expect(await t.result(handle)).toBe("second in execution 2"); // handles follow
    expect(await handle.result({ execution: 1 })).toBe("first in execution 1");
    expect(await handle.executions()).toMatchObject([
      { execution: 1, status: "completed" },
      { execution: 2, status: "completed" },
    ]);
  },
});

scenario("terminateExisting: the running execution is ended, the next one begins", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx, name: string) => ctx.run(work.activity, name));
  return {
    register: [work.activity, main],
    run: async () => {
      const options: StartOptions = { id: "i", onConflict: "terminateExisting" };
      const handle = await t.client.start(main, "old", options);
      await t.settle();
      await handle.raise("unread", "of the old life");
      await t.client.start(main, "new", options);
      await t.settle();
      await work.finishVisit(0, "late result of the old one");
      expect((await handle.describe()).status).toBe("running");
      await work.finish("new", "done");
      expect(await t.result(handle)).toBe("done");
      const ended = await handle.result({ execution: 1 }).catch((error: unknown) => error);
      expect(ended).toMatchObject({ kind: "terminated" });
      expect(await t.story(handle)).not.toContain("EventReceived unread");
    },
  };
});

scenario("a restarted instance has another seed, run id and keys", (t) => {
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

scenario("a repeated request id returns what the first call did, whatever came since", {
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

scenario("a delayed start begins at its time, and events that came before wait with it", () => {
  const main = orchestration("main", async (ctx) => {
    const begun = ctx.now();
    return [begun, await ctx.event("x")];
  });
  return {
    register: [main],
    run: async (t) => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i", delay: "40d" });
      await handle.raise("x", "early");
      await t.advance("20d");
      await t.deploy();
      expect(await handle.describe()).toMatchObject({ status: "pending" });
      await t.advance("20d");
      expect(await t.result(handle)).toEqual([new Date(begun + 40 * 86_400_000), "early"]);
    },
  };
});

scenario("a start at a date: in the future at its time, in the past at once", {
  register: [echo],
  run: async (t) => {
    const later = new Date(t.now() + 5_000);
    const future = await t.client.start(echo, "future", { id: "future", at: later });
    const past = await t.client.start(echo, "past", { id: "past", at: new Date(0) });
    await t.settle();
    expect(await past.describe()).toMatchObject({ status: "running" });
    expect(await future.describe()).toMatchObject({ status: "pending" });
    await t.advance("65s");
    expect(await t.result(future)).toBe("future in execution 1");
  },
});

scenario("bad ids, options and inputs are refused before anything is written", {
  register: [echo],
  run: async (t) => {
    const start = (options: object) => t.client.start(echo, "x", options).catch(codeOf);
    for (const id of ["", "a::b", "tab\t", "x".repeat(257), "\ud800"]) {
      expect(await start({ id }), JSON.stringify(id)).toBe("INVALID_ARGUMENT");
    }
    expect(await start({ id: "i", delay: "1s", at: new Date() })).toBe("INVALID_ARGUMENT");
    expect(await start({ id: "i", priority: 0 })).toBe("INVALID_ARGUMENT");
    expect(await start({ id: "i", onConflict: "replace" })).toBe("INVALID_ARGUMENT");
    expect(await start({ id: "i", version: "one" })).toBe("INVALID_ARGUMENT");
    const bad = await t.client.start("echo", () => 1, { id: "i" }).catch((e: unknown) => e);
    expect(isPerdureError(bad, "VALUE_NOT_SERIALIZABLE")).toBe(true);
    expect(await t.client.get("i").exists()).toBe(false);
  },
});

scenario(
  "an input schema is asked at the client, for children in the turn; its output is the input",
  () => {
    const trimmed: StandardSchema<string, string> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) =>
          typeof value === "string" && value.trim() !== ""
            ? { value: value.trim() }
            : { issues: [{ message: "empty" }] },
      },
    };
    const child = orchestration("child", async (_ctx, text) => `[${text}]`, { input: trimmed });
    const main = orchestration("main", async (ctx) => [
      await ctx.call(child, "  a "),
      ((): unknown => {
        try {
          return ctx.call(child, "  ");
        } catch (error) {
          return codeOf(error);
        }
      })(),
    ]);
    return {
      register: [child, main],
      run: async (t) => {
        expect(await t.client.start(child, " ", { id: "bad" }).catch(codeOf)).toBe(
          "INVALID_ARGUMENT",
        );
        const direct = await t.client.start(child, " b ", { id: "direct" });
        expect(await t.result(direct)).toBe("[b]");
        const handle = await t.client.start(main, undefined, { id: "i" });
        expect(await t.result(handle)).toEqual(["[a]", "INVALID_ARGUMENT"]);
      },
    };
  },
);

scenario("a process without a runtime starts and inspects; any other runs it", {
  register: [echo],
  run: async (t) => {
    await t.boot([], { activityConcurrency: 0 }); // registers nothing
    const handle = await t.client.start("echo", "from outside", { id: "i" });
    await t.advance("1m");
    expect(await t.result(handle)).toBe("from outside in execution 1");
  },
});
