// Orchestrations that await a promise which is not durable, and contexts used outside their turn: blocked or refused
// with advice on the fix, never a hang.

import { pbkdf2 } from "node:crypto";
import { stat } from "node:fs/promises";
import timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import {
  activity,
  isPerdureError,
  orchestration,
  type OrchestrationContext,
} from "../../../src/index.ts";
import { fileStore, memoryStore, signal, startRuntime, until, virtualWorld } from "./support.ts";

// Captured before any guard is installed.
const hostNow = performance.now.bind(performance);

const echo = activity("echo", (value: unknown) => value);
const blocked = {
  code: "FOREIGN_AWAIT",
  message: expect.stringMatching(/not durable.*ctx\.run.*ctx\.step.*ctx\.sleep or ctx\.waitFor/s),
};

describe("an orchestration that awaits", () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const derive = promisify(pbkdf2);
  const digest = (): Promise<unknown> => derive("secret", "salt", 1, 32, "sha256");
  const foreign: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["work of another thread", digest],
    ["a promise that never settles", never],
    ["a foreign promise in Promise.all", () => Promise.all([Promise.resolve(1), digest()])],
    ["a foreign promise in Promise.race", () => Promise.race([never(), digest()])],
  ];
  test.each(foreign)("%s is blocked at once, and its message names the fix", async (_, wait) => {
    const work = orchestration("work", async () => wait());
    const { client, environment, logs, runtime } = await virtualWorld([work]);
    const handle = await client.start(work, undefined, { id: "a" });
    await environment.settle();
    expect(await handle.describe()).toMatchObject({ blocked });
    expect(runtime.stats().blocked).toBe(1);
    const lines = logs.about("not durable");
    expect(lines).toMatchObject([
      { level: "warn", fields: { instance: "a", code: "FOREIGN_AWAIT" } },
    ]);
  });

  test.each(foreign)(
    "%s after durable work is blocked, and the durable work is kept",
    async (_, wait) => {
      const work = orchestration("work", async (ctx) => {
        await ctx.run(echo, 1);
        await wait();
      });
      const { client, environment } = await virtualWorld([work, echo]);
      const handle = await client.start(work, undefined, { id: "a" });
      await environment.settle();
      expect(await handle.describe()).toMatchObject({ status: "running", blocked });
      expect((await handle.describe()).blocked?.message).toContain(
        'Its last durable call was event 2, ActivityScheduled "echo".',
      );
      // The activity ran, and its result waits in the inbox.
      expect((await handle.history()).map(({ kind }) => kind)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled",
      ]);
    },
  );

  test("a foreign promise that settles before its turn is written is blocked all the same, however quick it was", async () => {
    const work = orchestration("work", async (ctx) => {
      await ctx.waitFor("go");
      await digest();
      return ctx.run(echo, 1);
    });
    const { client, provider } = await fileStore();
    await startRuntime(provider, [work, echo]);
    for (let i = 0; i < 30; i++) {
      // The start and the event are due together, so the turn has more than one drain.
      const handle = await client.start(work, undefined, { id: `${i}`, delay: 1 });
      await handle.raise("go");
      await until("the instance has ended or is blocked", async () => {
        const { status, blocked: why } = await handle.describe();
        return why !== undefined || (status !== "pending" && status !== "running");
      });
      expect(await handle.describe()).toMatchObject({ blocked });
    }
  });

  test.each([
    ["setTimeout", () => new Promise((resolve) => setTimeout(resolve, 5)), "ctx.sleep"],
    ["setImmediate", () => new Promise((resolve) => setImmediate(resolve)), "ctx.sleep"],
    ["setTimeout", () => timersPromises.setTimeout(5), "ctx.sleep"],
    ["fetch", () => fetch("http://127.0.0.1:9/"), "an activity (ctx.run) or a step (ctx.step)"],
  ])(
    "%s is refused at the call, and the error names the right alternative",
    async (name, wait, instead) => {
      const work = orchestration("work", async () => wait());
      const { client } = await virtualWorld([work]);
      const handle = await client.start(work, undefined, { id: "a" });
      const message = `${name} was called in the orchestration "work", where it could not be replayed.`;
      await expect(handle.result()).rejects.toMatchObject({
        message: `${message} Use ${instead}.`,
        cause: { code: "GUARD_VIOLATION" },
      });
    },
  );

  test("timers with the guards off is blocked like any other foreign promise", async () => {
    const work = orchestration("work", async () => new Promise((done) => setTimeout(done, 5)));
    const { client, environment } = await virtualWorld([work], { guards: false });
    const handle = await client.start(work, undefined, { id: "a" });
    await environment.settle();
    expect(await handle.describe()).toMatchObject({ blocked });
  });

  test("already settled promises and its own async functions is not blocked", async () => {
    const helper = async (ctx: OrchestrationContext, n: number): Promise<unknown> => {
      await Promise.resolve();
      await Promise.all([Promise.resolve(1), (async () => Promise.resolve())()]);
      return ctx.run(echo, n);
    };
    const work = orchestration("work", async (ctx) => {
      const one = await helper(ctx, 1);
      const two = await Promise.all([helper(ctx, 2), helper(ctx, 3)]);
      return [one, ...two];
    });
    const { client } = await virtualWorld([work, echo]);
    expect(await (await client.start(work)).result()).toEqual([1, 2, 3]);
  });
});

describe("a context used outside a turn of its instance", () => {
  test("after a foreign await alongside durable work blocks the instance, and the error names the fix", async () => {
    const woken = signal();
    const caught = signal<unknown>();
    const work = orchestration("work", async (ctx) => {
      const open = ctx.waitFor("never"); // durable work is open, so that the turn itself is valid
      await woken.reached;
      try {
        await ctx.run(echo, 1);
      } catch (error) {
        caught.reach(error);
        throw error;
      }
      return open;
    });
    const { client, environment } = await virtualWorld([work, echo]);
    const handle = await client.start(work, undefined, { id: "a" });
    await environment.settle();
    expect((await handle.describe()).blocked).toBeUndefined();
    woken.reach();
    expect(await caught.reached).toMatchObject(blocked);
    await environment.settle();
    const source = expect.stringContaining("foreign-await.test.ts") as string;
    expect(await handle.describe()).toMatchObject({
      status: "running",
      blocked: { ...blocked, source },
    });
    expect((await handle.describe()).blocked?.message).toMatch(
      /continued outside a turn at .*foreign-await\.test\.ts:\d+:\d+/,
    );
    expect((await handle.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "EventSubscribed",
    ]);
  });

  test("inside its own step or activity is refused by name, and blocks no instance", async () => {
    let shared: OrchestrationContext | undefined;
    const borrow = activity("borrow", async () => {
      await shared?.run(echo, 1);
    });
    const work = orchestration("work", async (ctx) => {
      shared = ctx;
      const settled = await ctx.allSettled([
        ctx.step("nested", async () => ctx.run(echo, 1)),
        ctx.step("sleeper", async () => ctx.sleep("1s")),
        ctx.run(borrow),
      ]);
      return settled.map((one) => (one.status === "rejected" ? messageOf(one.reason) : one.status));
    });
    const { client } = await virtualWorld([work, echo, borrow]);
    expect(await (await client.start(work)).result()).toEqual([
      'GUARD_VIOLATION: ctx must not be used inside the step "nested"; pass values to it instead.',
      'GUARD_VIOLATION: ctx must not be used inside the step "sleeper"; pass values to it instead.',
      'GUARD_VIOLATION: ctx must not be used inside the activity "borrow"; pass values to it instead.',
    ]);
  });

  test("of another instance is refused there, and blocks the instance that owns the context", async () => {
    let kept: OrchestrationContext | undefined;
    const owner = orchestration("owner", async (ctx) => {
      kept = ctx;
      return ctx.waitFor("done");
    });
    const thief = orchestration("thief", async (ctx) => {
      const stolen = await kept?.run(echo, "stolen").catch((error: unknown) => messageOf(error));
      return [stolen, await ctx.run(echo, "own")];
    });
    const { client, environment } = await virtualWorld([owner, thief, echo]);
    const victim = await client.start(owner, undefined, { id: "victim" });
    await environment.settle();
    const handle = await client.start(thief, undefined, { id: "thief" });
    await handle.result({ timeout: 0 }).catch(() => undefined);
    await environment.settle();
    // The refusal is synchronous, so the code of "thief" fails.
    expect(await handle.describe()).toMatchObject({
      status: "failed",
      error: { cause: { code: "FOREIGN_AWAIT" } },
    });
    expect(await victim.describe()).toMatchObject({ status: "running", blocked });
    expect((await victim.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "EventSubscribed",
    ]);
  });

  test("after its orchestration has returned is refused and changes nothing", async () => {
    let kept: OrchestrationContext | undefined;
    const work = orchestration("work", async (ctx) => {
      kept = ctx;
      return "over";
    });
    const { client } = await virtualWorld([work, echo]);
    const handle = await client.start(work, undefined, { id: "a" });
    expect(await handle.result()).toBe("over");
    const history = await handle.history();
    expect(() => kept?.run(echo, 1)).toThrow(/not durable/);
    expect(await handle.history()).toEqual(history);
  });
});

test("while orchestrations run, all other code keeps the clock, timers and randomness of the host", async () => {
  const shared: { settle: () => void }[] = [];
  const chatty = orchestration("chatty", async (ctx) => {
    for (let i = 0; ; i++) {
      if (i % 3 === 0) await ctx.run(echo, i);
      else await ctx.waitFor("go");
      shared.shift()?.settle(); // a promise of code outside the orchestration, settled from inside a turn
    }
  });
  const { client, provider } = await memoryStore();
  await startRuntime(provider, [chatty, echo]);
  const handles = await Promise.all(
    Array.from({ length: 5 }, (_, n) => client.start(chatty, undefined, { id: `${n}` })),
  );
  const faults: string[] = [];
  const look = (where: string): void => {
    try {
      // An orchestration's clock starts with its first event; its timers and randomness are refused.
      const [before, seen, after] = [hostNow(), performance.now(), hostNow()];
      if (seen < before || seen > after) faults.push(`${where}: wrong clock`);
      clearTimeout(setTimeout(() => undefined, 1));
      crypto.getRandomValues(new Uint8Array(1));
    } catch (error) {
      faults.push(`${where}: ${messageOf(error)}`);
    }
  };
  for (let round = 0; round < 150; round++) {
    const settled = Promise.withResolvers<void>();
    shared.push({ settle: settled.resolve });
    // Two messages for the first instance are due at once, so its turn has several drains.
    const raised = [...handles, handles[0] ?? handles].flat().map((handle) => handle.raise("go"));
    await new Promise<void>((resolve) => setImmediate(resolve));
    look("an immediate");
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    look("a timer");
    await stat(".");
    look("I/O");
    await settled.promise;
    look("a promise settled in a turn");
    await Promise.all(raised);
  }
  expect(faults).toEqual([]);
});

test("race and any refuse a bare promise, because it could not be cancelled", async () => {
  const work = orchestration("work", async (ctx) => {
    const calls = [
      () => ctx.race([Promise.resolve(1)] as never),
      () => ctx.race({ a: Promise.resolve(1) } as never),
      () => ctx.any([Promise.resolve(1)] as never),
      () => ctx.race([]),
      () => ctx.race(7 as never),
    ];
    return calls.map((call) => {
      try {
        void call();
        return "taken";
      } catch (error) {
        return messageOf(error);
      }
    });
  });
  const { client } = await virtualWorld([work]);
  expect(await (await client.start(work)).result()).toEqual([
    expect.stringContaining("a plain promise cannot be cancelled. Pass () =>"),
    expect.stringContaining("a plain promise cannot be cancelled. Pass () =>"),
    expect.stringContaining("a plain promise cannot be cancelled. Pass () =>"),
    "INVALID_ARGUMENT: ctx.race must be given at least one branch; without one it would never settle.",
    "INVALID_ARGUMENT: ctx.race must be given an object or a list of tasks or functions; got 7.",
  ]);
});

test("a blocked instance runs again after its code is fixed, and continues from where it was", async () => {
  const broken = orchestration("work", async (ctx) => {
    const first = await ctx.run(echo, "kept");
    await new Promise(() => undefined);
    return first;
  });
  const mended = orchestration("work", async (ctx) => {
    const first = await ctx.run(echo, "kept");
    return [first, await ctx.run(echo, "mended")];
  });
  const { client, environment, provider, runtime } = await virtualWorld([broken, echo]);
  const handle = await client.start(broken, undefined, { id: "a" });
  await environment.settle();
  expect((await handle.describe()).blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  await runtime.shutdown();
  await startRuntime(provider, [mended, echo]);
  await environment.advance(5_000);
  expect(await handle.result()).toEqual(["kept", "mended"]);
});

test("a cancel of a blocked instance ends it at once", async () => {
  const work = orchestration("work", async () => new Promise<never>(() => undefined));
  const { client, environment } = await virtualWorld([work]);
  const handle = await client.start(work, undefined, { id: "a" });
  await environment.settle();
  await handle.cancel("give up");
  await expect(handle.result()).rejects.toMatchObject({
    code: "CANCELLED",
    message: "cancelled: give up",
  });
});

function messageOf(error: unknown): string {
  const cause = error instanceof Error && isPerdureError(error.cause) ? error.cause : error;
  return isPerdureError(cause) ? `${cause.code}: ${cause.message}` : String(error);
}
