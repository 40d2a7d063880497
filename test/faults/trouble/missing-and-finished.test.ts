// Calls on instances that do not exist or have ended, and waits that are cut short.

import { describe, expect, test } from "vitest";
import { event, orchestration } from "../../../src/index.ts";
import { areOpen, refusalOf, startRuntime, virtualStore, virtualWorld } from "./support.ts";

const approval = event<string>("approval");
const waiting = orchestration("waiting", async (ctx) => ctx.waitFor(approval));
const quick = orchestration("quick", async () => "done");

describe("an instance that does not exist", () => {
  test.each([
    ["raise", (handle) => handle.raise("approval", 1)],
    ["cancel", (handle) => handle.cancel()],
    ["terminate", (handle) => handle.terminate()],
    ["result", (handle) => handle.result()],
    ["result with a timeout", (handle) => handle.result({ timeout: "1h" })],
    ["describe", (handle) => handle.describe()],
    ["history", (handle) => handle.history()],
    ["executions", (handle) => handle.executions()],
  ] as const satisfies readonly (readonly [string, (handle: Handle) => Promise<unknown>])[])(
    "%s fails at once with INSTANCE_NOT_FOUND and the id",
    async (_, call) => {
      const { client } = await virtualStore();
      const handle = client.get("missing");
      const error = await refusalOf(call(handle));
      expect(error.code).toBe("INSTANCE_NOT_FOUND");
      expect(error.message).toBe('There is no instance "missing".');
      expect(await handle.exists()).toBe(false);
    },
  );
});

describe("an instance that has ended", () => {
  const endings = [
    ["completed", async (handle: Handle) => handle.raise("approval", "yes")],
    ["cancelled", async (handle: Handle) => handle.cancel("no longer needed")],
    ["terminated", async (handle: Handle) => handle.terminate("gone wrong")],
  ] as const;

  test.each(endings)(
    "as %s refuses events, cancel and terminate, and does not change",
    async (status, end) => {
      const { client } = await virtualWorld([waiting]);
      const handle = await client.start(waiting, undefined, { id: "a" });
      await end(handle);
      await handle.result().catch(() => undefined);
      const before = await handle.describe();
      expect(before.status).toBe(status);
      const history = await handle.history();
      for (const call of [
        () => handle.raise(approval, "again"),
        () => handle.cancel(),
        () => handle.terminate(),
      ]) {
        const error = await refusalOf(call);
        expect(error.code).toBe("INSTANCE_FINISHED");
        expect(error.message).toBe('Instance "a" has already ended.');
      }
      expect(await handle.describe()).toEqual(before);
      expect(await handle.history()).toEqual(history);
    },
  );

  test("returns its outcome again and again, to every caller", async () => {
    const { client, provider } = await virtualWorld([quick]);
    const handle = await client.start(quick, undefined, { id: "a" });
    expect(await handle.result()).toBe("done");
    expect(await handle.result({ timeout: 0 })).toBe("done");
    expect(await client.get(quick, "a").result({ execution: 1 })).toBe("done");
    await startRuntime(provider, [quick]);
    expect(await handle.result()).toBe("done");
  });
});

describe("the reason of an ending", () => {
  test("reaches the result, describe and the code, with its author, if it is a cancel's", async () => {
    let seen: unknown;
    const watching = orchestration("watching", async (ctx) => {
      try {
        return await ctx.waitFor("never");
      } catch (error) {
        seen = error;
        return "its value does not matter";
      }
    });
    const { client } = await virtualWorld([watching]);
    const handle = await client.start(watching, undefined, { id: "a" });
    await handle.cancel({ reason: "out of stock", by: "ada" });
    await expect(handle.result()).rejects.toMatchObject({
      code: "CANCELLED",
      kind: "cancelled",
      message: "cancelled: out of stock",
    });
    expect(seen).toMatchObject({ code: "CANCELLED", message: "cancelled: out of stock" });
    expect((await handle.describe()).cancelled).toMatchObject({
      reason: "out of stock",
      by: "ada",
    });
  });

  test("reaches the result if it is a terminate's, and the code does not run again", async () => {
    let resumed = false;
    const stubborn = orchestration("stubborn", async (ctx) => {
      try {
        await ctx.waitFor("never");
      } finally {
        resumed = true;
      }
    });
    const { client, environment } = await virtualWorld([stubborn]);
    const handle = await client.start(stubborn, undefined, { id: "a" });
    await environment.settle();
    await handle.terminate("gone wrong");
    await environment.advance(60_000);
    await expect(handle.result()).rejects.toMatchObject({
      code: "TERMINATED",
      message: expect.stringContaining("gone wrong"),
    });
    expect(resumed).toBe(false);
  });

  test("is refused before anything happens if it is not a text", async () => {
    const { client } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "a" });
    for (const why of [7, {}, { reason: 7 }, { reason: "r", by: 7 }, null]) {
      for (const call of [
        () => handle.cancel(why as never),
        () => handle.terminate(why as never),
      ]) {
        expect((await refusalOf(call)).code).toBe("INVALID_ARGUMENT");
      }
    }
    expect((await handle.describe()).cancelled).toBeUndefined();
  });

  test("stays the first one after a second cancel; a cancel before the first turn works", async () => {
    const { client, environment } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "a", delay: "1h" });
    await handle.cancel("first");
    expect((await refusalOf(handle.cancel("second"))).code).toBe("INSTANCE_FINISHED");
    await environment.advance(7_200_000);
    await expect(handle.result()).rejects.toMatchObject({ message: "cancelled: first" });
  });
});

describe("waiting for a result", () => {
  test("fails with TIMEOUT after its timeout, and the instance continues", async () => {
    const { client, environment } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "slow" });
    const refused = refusalOf(handle.result({ timeout: "30s" }));
    await environment.advance(29_999);
    expect(await areOpen(refused)).toBe(true);
    await environment.advance(1);
    const error = await refused;
    expect(error.code).toBe("TIMEOUT");
    expect(error.message).toBe(
      'Instance "slow" did not end within 30s: it waits for the event "approval".',
    );
    await handle.raise(approval, "late");
    expect(await handle.result()).toBe("late");
  });

  test("with a number as timeout names the unit in the error", async () => {
    const { client, environment } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "slow" });
    const refused = refusalOf(handle.result({ timeout: 1_500 }));
    await environment.advance(1_500);
    expect((await refused).message).toBe(
      'Instance "slow" did not end within 1.5s: it waits for the event "approval".',
    );
  });

  test("with a timeout of 0 checks once", async () => {
    const { client } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "a" });
    expect((await refusalOf(handle.result({ timeout: 0 }))).code).toBe("TIMEOUT");
  });

  test("with an invalid timeout is refused", async () => {
    const { client } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "a" });
    for (const timeout of ["soon", -1, NaN, {}]) {
      const error = await refusalOf(handle.result({ timeout: timeout as never }));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toContain("timeout");
    }
  });

  test("rejects with the signal's reason, before and during the wait, and leaves no timer behind", async () => {
    const { client, environment } = await virtualStore();
    const handle = await client.start(waiting, undefined, { id: "a" });
    const why = new Error("the user left");
    await expect(handle.result({ signal: AbortSignal.abort(why) })).rejects.toBe(why);

    const controller = new AbortController();
    const result = handle.result({ signal: controller.signal, timeout: "1h" });
    const refused = expect(result).rejects.toBe(why);
    await environment.settle();
    controller.abort(why);
    await refused;
    expect(environment.nextTimerAt()).toBe(null);
  });

  test("of an execution that does not exist, or that continued as new, names the reason", async () => {
    const chain = orchestration("chain", async (ctx, n: number): Promise<number> =>
      n === 0 ? n : ctx.continueAsNew(n - 1),
    );
    const { client } = await virtualWorld([chain]);
    const handle = await client.start(chain, 2, { id: "a" });
    expect(await handle.result()).toBe(0);
    expect(await handle.result({ execution: 3 })).toBe(0);
    const missing = await refusalOf(handle.result({ execution: 9 }));
    expect([missing.code, missing.message]).toEqual([
      "INSTANCE_NOT_FOUND",
      'Instance "a" has no execution 9.',
    ]);
    const continued = await refusalOf(handle.result({ execution: 1 }));
    expect(continued.message).toContain("continued as new: it has no result");
  });

  test("by a hundred callers ends for all of them", async () => {
    const { client } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, undefined, { id: "a" });
    const results = Promise.all(Array.from({ length: 100 }, () => client.get("a").result()));
    await handle.raise(approval, "yes");
    expect(new Set(await results)).toEqual(new Set(["yes"]));
  });
});

type Handle = ReturnType<Awaited<ReturnType<typeof virtualStore>>["client"]["get"]>;
