// Starting instances: ids, delays, validation, input schemas (semantics 1, 2).

import { expect } from "vitest";
import { isPerdureError, orchestration, type StandardSchema } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";
import { DAILY } from "../support/world.ts";

const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

const echo = orchestration("echo", async (ctx, input: string) => {
  await ctx.sleep("1m");
  return `${input} in execution ${ctx.info.executionId}`;
});

scenario("when start has returned, the instance exists and is pending", {
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

scenario("a start without an id generates a unique id", {
  register: [echo],
  run: async (t) => {
    const a = await t.client.start(echo, "a");
    const b = await t.client.start(echo, "b");
    expect(a.id).not.toBe(b.id);
    await t.advance("1m");
    expect(await t.result(b)).toBe("b in execution 1");
  },
});

scenario("a delayed start begins at its time and keeps earlier events", () => {
  const main = orchestration("main", async (ctx) => {
    const begun = ctx.now();
    return [begun, await ctx.waitFor("x")];
  });
  return {
    register: [main],
    runtime: DAILY,
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

scenario("a start with a future date begins at that date, with a past date at once", {
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

scenario("invalid ids, options and inputs are refused before anything is written", {
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
    const bad = await t.client
      .start<string, unknown>("echo", () => 1, { id: "i" })
      .catch((e: unknown) => e);
    expect(isPerdureError(bad, "VALUE_NOT_SERIALIZABLE")).toBe(true);
    expect(await t.client.get("i").exists()).toBe(false);
  },
});

scenario(
  "the client validates the input of a start, and the turn validates the input of a child",
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

scenario("a process that registers nothing can start instances, and another process runs them", {
  register: [echo],
  run: async (t) => {
    await t.boot([], { activityConcurrency: 0 }); // registers nothing
    const handle = await t.client.start("echo", "from outside", { id: "i" });
    await t.advance("1m");
    expect(await t.result(handle)).toBe("from outside in execution 1");
  },
});
