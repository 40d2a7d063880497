// Handles: results, timeouts, statuses and histories as a client sees them.

import { expect } from "vitest";
import { activity, isPerdureError, orchestration, OrchestrationError } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

const napper = orchestration("napper", async (ctx, n: number): Promise<string> => {
  await ctx.sleep("10s");
  return n > 1 ? ctx.continueAsNew(n - 1) : "rested";
});

scenario("waiting calls of result return when the instance ends", {
  register: [napper],
  run: async (t) => {
    const handle = await t.client.start(napper, 1, { id: "i" });
    const results = [handle.result(), handle.result(), t.client.get(napper, "i").result()];
    await t.advance("10s");
    expect(await Promise.all(results)).toEqual(["rested", "rested", "rested"]);
    expect(await handle.result()).toBe("rested");
  },
});

scenario("result follows continueAsNew to the last execution", {
  register: [napper],
  run: async (t) => {
    const handle = await t.client.start(napper, 3, { id: "i" });
    const result = handle.result();
    await t.advance("30s");
    expect(await result).toBe("rested");
    expect(await handle.result({ execution: 3 })).toBe("rested");
    expect(await handle.result({ execution: 1 }).catch(codeOf)).toBe("INVALID_ARGUMENT");
    expect(await handle.result({ execution: 4 }).catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
  },
});

scenario("result throws TIMEOUT after its timeout, and the instance continues", {
  register: [napper],
  run: async (t) => {
    const handle = await t.client.start(napper, 1, { id: "i" });
    const late = handle.result({ timeout: "5s" }).catch(codeOf);
    const inTime = handle.result({ timeout: "15s" });
    await t.advance("5s");
    expect(await late).toBe("TIMEOUT");
    await t.advance("5s");
    expect(await inTime).toBe("rested");
  },
});

scenario("an aborted signal ends a call of result, before and during the wait", {
  register: [napper],
  run: async (t) => {
    const handle = await t.client.start(napper, 1, { id: "i" });
    const reason = new Error("enough");
    const aborted = handle.result({ signal: AbortSignal.abort(reason) });
    expect(await aborted.catch((error: unknown) => error)).toBe(reason);
    const controller = new AbortController();
    const waiting = handle.result({ signal: controller.signal }).catch((error: unknown) => error);
    await t.advance("5s");
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    await t.advance("5s");
    expect(await t.result(handle)).toBe("rested");
  },
});

scenario("every read of an unknown id throws INSTANCE_NOT_FOUND", {
  register: [napper],
  run: async (t) => {
    const unknown = t.client.get("unknown");
    expect(await unknown.exists()).toBe(false);
    expect(await unknown.result().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
    expect(await unknown.describe().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
    expect(await unknown.history().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
    expect(await unknown.executions().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
    expect(await unknown.terminate().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
  },
});

scenario("result of a failed instance throws an OrchestrationError with the original cause", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1s");
    throw Object.assign(new TypeError("bad shape"), { field: "name" });
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      const error = await t.failure(handle);
      expect(error).toBeInstanceOf(OrchestrationError);
      expect(error).toMatchObject({
        ...{ code: "ORCHESTRATION_FAILED", kind: "failed", message: "bad shape" },
        cause: { name: "TypeError", field: "name" },
      });
      expect(await handle.describe()).toMatchObject({
        status: "failed",
        error: { kind: "failed" },
      });
    },
  };
});

scenario("an instance may return undefined or fail in its first turn", () => {
  const nothing = orchestration("nothing", async () => undefined);
  const immediate = orchestration("immediate", async () => {
    throw new Error("at once");
  });
  return {
    register: [nothing, immediate],
    run: async (t) => {
      const a = await t.client.start(nothing, undefined, { id: "a" });
      const b = await t.client.start(immediate, undefined, { id: "b" });
      expect(await t.result(a)).toBeUndefined();
      expect(await t.failure(b)).toMatchObject({ message: "at once" });
      expect(await t.story(b)).toEqual(["OrchestrationStarted", "OrchestrationFailed failed"]);
    },
  };
});

scenario("an orchestration may throw a value that is not an Error", () => {
  const main = orchestration("main", async (_ctx, what: unknown) => {
    throw what;
  });
  return {
    register: [main],
    run: async (t) => {
      for (const [id, thrown] of [
        ["text", "just a text"],
        ["object", { code: 7 }],
        ["nothing", undefined],
      ] as const) {
        const handle = await t.client.start(main, thrown, { id });
        const error = await t.failure(handle);
        const cause = error instanceof OrchestrationError ? error.cause : undefined;
        expect(cause, id).toBeInstanceOf(Error); // wrapped in an Error, so that a catch always receives an Error
        expect(cause instanceof Error && cause.cause, id).toEqual(thrown);
      }
    },
  };
});

scenario("an output that cannot be serialized fails the instance and reports the path", () => {
  const main = orchestration("main", async () => ({ handler: () => 1 }));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.failure(handle)).toMatchObject({
        kind: "failed",
        cause: { code: "VALUE_NOT_SERIALIZABLE", path: "$.handler" },
      });
    },
  };
});

scenario("describe reports the status of each instance from pending to its end", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx, name: string) => ctx.run(work.activity, name));
  return {
    register: [work.activity, main],
    run: async () => {
      const status = async (id: string) => (await t.client.get(id).describe()).status;
      await t.client.start(main, "good", { id: "good", delay: "1m" });
      await t.client.start(main, "bad", { id: "bad" });
      await t.client.start(main, "gone", { id: "gone" });
      expect(await status("good")).toBe("pending");
      await t.advance("1m");
      expect(await Promise.all(["good", "bad", "gone"].map(status))).toEqual([
        "running",
        "running",
        "running",
      ]);
      await work.finish("good", "ok");
      await work.fail("bad", new Error("no"));
      await t.client.get("gone").cancel();
      await t.settle();
      expect(await Promise.all(["good", "bad", "gone"].map(status))).toEqual([
        "completed",
        "failed",
        "cancelled",
      ]);
      const info = await t.client.get("good").describe();
      expect(info.completedAt).toEqual(new Date(t.now()));
      expect(info.createdAt).toEqual(new Date(t.now() - 60_000));
      expect(info.output).toBe("ok");
    },
  };
});

scenario("between two executions the instance is running", {
  register: [napper],
  run: async (t) => {
    const handle = await t.client.start(napper, 2, { id: "i" });
    await t.advance("10s");
    expect(await handle.describe()).toMatchObject({ status: "running", execution: 2 });
    expect(await handle.executions()).toMatchObject([
      { execution: 1, status: "continuedAsNew", events: 4 },
      { execution: 2, status: "running", events: 2 },
    ]);
    expect((await handle.history()).length).toBe(2);
    expect((await handle.history({ execution: 1 })).length).toBe(4);
    await t.advance("10s");
    expect(await t.result(handle)).toBe("rested");
  },
});

scenario("describe shows everything an instance waits for, in schedule order", (t) => {
  const work = t.gate<string>("work");
  const child = orchestration("child", (ctx) => ctx.waitFor("never"));
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1s");
    await ctx.all([
      ctx.run(work.activity, "w"),
      ctx.waitFor("go"),
      ctx.sleep("1h"),
      ctx.call(child, undefined, { id: "kid" }),
      ctx.step("slow", () => new Promise(() => undefined)),
      ctx.run("unregistered"),
    ]);
  });
  return {
    register: [work.activity, child, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      const { waitingFor } = await handle.describe();
      expect(waitingFor).toMatchObject([
        { kind: "activity", sequence: 4, name: "work", attempt: 1, worker: expect.any(String) },
        { kind: "event", sequence: 5, name: "go" },
        { kind: "timer", sequence: 6, due: new Date(t.now() + 3_600_000) },
        { kind: "child", sequence: 7, name: "child", id: "kid" },
        { kind: "step", sequence: 8, name: "slow", attempt: 1 },
        { kind: "activity", sequence: 9, name: "unregistered", attempt: 1 },
      ]);
      expect(waitingFor[5]).not.toHaveProperty("worker");
      await handle.terminate();
    },
  };
});

scenario("completedWork names the calls that a restart runs again, by execution", () => {
  const charge = activity("charge", async (cents: number) => cents);
  const decline = activity("decline", async () => {
    throw new Error("declined");
  });
  const mail = orchestration("mail", async (ctx) => ctx.step("send", async () => "sent"));
  const main = orchestration("main", async (ctx, n: number): Promise<unknown> => {
    await ctx.step("reserve", async () => n);
    if (n > 1) return ctx.continueAsNew(n - 1);
    await ctx.run(charge, 1);
    await ctx.run(charge, 2);
    await ctx.call(mail, undefined);
    return ctx.run(decline, undefined);
  });
  return {
    register: [main, mail, charge, decline],
    run: async (t) => {
      const handle = await t.client.start(main, 2, { id: "i" });
      await handle.result().catch(() => undefined);
      expect(await handle.completedWork()).toEqual([
        { kind: "step", name: "reserve", count: 1 },
        { kind: "activity", name: "charge", count: 2 },
        { kind: "child", name: "mail", count: 1 },
      ]);
      const first = await handle.completedWork({ execution: 1 });
      expect(first).toEqual([{ kind: "step", name: "reserve", count: 1 }]);
      expect(await handle.completedWork({ execution: 0 }).catch(codeOf)).toBe("INVALID_ARGUMENT");
      const missing = await t.client.get("j").completedWork().catch(codeOf);
      expect(missing).toBe("INSTANCE_NOT_FOUND");
    },
  };
});

scenario(
  "describe reports when a cancellation was taken, what it interrupted, and the cleanup",
  () => {
    const main = orchestration("main", async (ctx, fails?: boolean) => {
      ctx.compensate(async () => {
        await ctx.sleep("1m");
        if (fails === true) throw new Error("the cleanup failed");
      });
      await Promise.all([ctx.sleep("1d"), ctx.waitFor("go")]);
    });
    return {
      register: [main],
      outdated: ["j", "l"], // the code of "j" never ran, and that of "l" did not end
      run: async (t) => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.advance("1h");
        expect(await handle.describe()).not.toHaveProperty("cancelled");
        const at = new Date(t.now());
        await handle.cancel({ reason: "enough", by: "ada" });
        await t.settle();
        const interrupted = [
          { kind: "timer", name: "timer", sequence: 2 },
          { kind: "event", name: "go", sequence: 3 },
        ];
        const cancelled = { reason: "enough", by: "ada", at, interrupted };
        expect((await handle.describe()).cancelled).toEqual(cancelled);
        await t.advance("1m");
        expect((await handle.describe()).cancelled).toEqual({ ...cancelled, cleanedUp: true });
        const [listed] = (await t.client.list()).items;
        expect(listed?.cancelled).toEqual({ reason: "enough", by: "ada" });
        const later = await t.client.start(main, undefined, { id: "j", delay: "1h" });
        await later.cancel();
        const nothing = { at: new Date(t.now()), interrupted: [], cleanedUp: true };
        expect((await later.describe()).cancelled).toMatchObject(nothing);
        const failing = await t.client.start(main, true, { id: "k" });
        await t.settle();
        await failing.cancel();
        await t.advance("1m");
        expect((await failing.describe()).cancelled).toMatchObject({
          interrupted,
          cleanedUp: false,
        });
        const killed = await t.client.start(main, true, { id: "l" });
        await t.settle();
        await killed.cancel();
        await t.settle();
        await killed.terminate();
        expect((await killed.describe()).cancelled).toMatchObject({
          interrupted,
          cleanedUp: false,
        });
      },
    };
  },
);
