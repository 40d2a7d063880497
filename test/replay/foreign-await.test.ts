// Awaiting a promise that is not durable, and using ctx outside a turn, are refused with a clear message.

import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { asyncContext } from "../../src/core/context/async-context.ts";
import { isPerdureError } from "../../src/core/errors/errors.ts";
import { completed, fired, raised } from "./bodies.ts";
import { begin, outputOf, type Handler } from "./support.ts";

const never = new Promise<never>(() => undefined);
const codeOf = (error: unknown): string => (isPerdureError(error) ? error.code : String(error));

test("awaiting a promise that never settles blocks, with a message that names the alternatives", async () => {
  const play = await begin(async () => never);
  expect(play.last.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(play.last.blocked?.message).toContain("ctx.run");
  expect(play.last.blocked?.message).toContain("ctx.sleep");
});

test("awaiting a host timer blocks although it would fire", async () => {
  const play = await begin(async () => delay(1), { checks: "end" });
  expect(play.last.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
});

test("a foreign await in a later turn blocks that turn, and its messages are not recorded", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a");
    await never;
  });
  const turn = await play.turn(completed(2));
  expect(turn.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(play.history.map(({ kind }) => kind)).toEqual([
    "OrchestrationStarted",
    "ActivityScheduled",
  ]);
});

test("a foreign await alongside a durable call blocks when no durable call is left", async () => {
  const play = await begin(async (ctx) => {
    await Promise.all([ctx.run("a"), never]);
  });
  expect(play.last.blocked).toBeNull();
  expect((await play.turn(completed(2))).blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
});

test("promises that settle by microtasks are not foreign awaits", async () => {
  const play = await begin(async (ctx) => {
    await Promise.resolve(1);
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    await Promise.all([Promise.resolve(1), Promise.resolve(2)]);
    return ctx.run("a");
  });
  expect(play.last.open).toEqual(["2 activity a"]);
});

test("ctx used after a host timer throws FOREIGN_AWAIT and blocks the run", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      void ctx.run("open");
      await delay(1);
      try {
        void ctx.run("too late");
      } catch (error) {
        seen.push(codeOf(error));
      }
    },
    { checks: "end" },
  );
  expect(play.last.blocked).toBeNull();
  await delay(20);
  expect(seen).toEqual(["FOREIGN_AWAIT"]);
  expect(play.run.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(play.run.newEvents).toEqual([]);
});

test("ctx used by a host timer that fires during a turn of many deliveries is refused", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      await ctx.waitFor("a");
      await ctx.waitFor("b");
      void ctx.sleep("1d");
      const due = new Promise<void>((resolve) => setTimeout(resolve, 0));
      // Due before the next macrotask, so the event loop fires it in its next round.
      for (const end = performance.now() + 3; performance.now() < end;);
      await due;
      try {
        void ctx.run("from timer");
        seen.push("accepted");
      } catch (error) {
        seen.push(codeOf(error));
      }
    },
    { checks: "end" },
  );
  const turn = await play.turn(raised("a"), raised("b"), raised("c"), raised("d"));
  await delay(20);
  expect(seen).toEqual(["FOREIGN_AWAIT"]);
  expect(turn.brief).not.toContain("ActivityScheduled from timer");
});

test("every use of ctx outside a turn is refused", async () => {
  const seen: string[] = [];
  await begin(
    async (ctx) => {
      const open = ctx.run("open");
      await delay(1);
      for (const use of [
        () => ctx.run("a"),
        () => ctx.step("s", () => 1),
        () => ctx.sleep(1),
        () => ctx.waitFor("e"),
        () => ctx.call("c"),
        () => ctx.startDetached("d", 1, { id: "d" }),
        () => ctx.continueAsNew(undefined),
        () => ctx.all([]),
        () => ctx.scope(() => 1),
        () => ctx.shield(() => 1),
        () => ctx.compensate(() => 1),
        () => ctx.uuid(),
        () => ctx.random(),
        () => ctx.now(),
        () => open.cancel(),
      ]) {
        try {
          void use();
          seen.push("accepted");
        } catch (error) {
          seen.push(codeOf(error));
        }
      }
    },
    { checks: "end" },
  );
  await delay(20);
  expect(seen).toEqual(Array.from({ length: 15 }, () => "FOREIGN_AWAIT"));
});

test("code that ends after a host timer is blocked, not ended", async () => {
  const play = await begin(
    async (ctx) => {
      await Promise.race([ctx.run("a"), delay(1)]);
      return "decided by the host's clock";
    },
    { checks: "end" },
  );
  await delay(20);
  expect(play.run.ended).toBeNull();
  expect(play.run.newEvents).toEqual([]);
  expect(play.run.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
});

test("code that fails after a host timer is blocked, and its compensations do not run", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      ctx.compensate(() => seen.push("compensated"));
      void ctx.run("a");
      await delay(1);
      throw new Error("host");
    },
    { checks: "end" },
  );
  await delay(20);
  expect(play.run.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(seen).toEqual([]);
});

test("a compensation that waits for a host timer blocks the run, and the next compensation does not run", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      ctx.compensate(() => seen.push("next"));
      ctx.compensate(async () => {
        void ctx.run("open");
        await delay(1);
      });
      throw new Error("x");
    },
    { checks: "end" },
  );
  expect(play.last.blocked).toBeNull();
  await delay(20);
  expect(play.run.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(play.run.ended).toBeNull();
  expect(seen).toEqual([]);
});

test("a run blocked between turns records and consumes nothing in its next turn", async () => {
  const play = await begin(
    async (ctx) => {
      const open = ctx.run("a");
      await delay(1);
      await ctx.run("b").catch(() => undefined);
      await open;
    },
    { checks: "end" },
  );
  await delay(20);
  const turn = await play.turn(completed(2), raised("e"));
  expect(turn.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toEqual([]);
});

test("using the ctx of one instance in a turn of another instance is refused", async () => {
  let taken: Parameters<Handler<undefined>>[0] | null = null;
  await begin(
    async (ctx) => {
      taken = ctx;
      await ctx.sleep(1);
    },
    { checks: "end" },
  );
  const other = await begin(
    async (_ctx, _input, note) => {
      try {
        void taken?.run("a");
      } catch (error) {
        note(codeOf(error));
      }
    },
    { checks: "end" },
  );
  expect(other.trace).toEqual(["FOREIGN_AWAIT"]);
});

test("ctx used inside a step throws GUARD_VIOLATION and does not block the run", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) =>
      ctx.step("s", async () => {
        for (const use of [() => ctx.run("a"), () => ctx.uuid(), () => ctx.now()]) {
          try {
            void use();
          } catch (error) {
            seen.push(`${codeOf(error)} ${(error as Error).message}`);
          }
        }
      }),
    { checks: "end" },
  );
  const step = play.run.openTasks.get(2);
  if (step?.kind !== "step") throw new Error("the step must be open");
  await asyncContext.run({ kind: "step", name: "s", instanceId: "i" }, async () =>
    step.fn({} as Parameters<typeof step.fn>[0]),
  );
  expect(seen).toHaveLength(3);
  for (const text of seen)
    expect(text).toContain('GUARD_VIOLATION ctx must not be used inside the step "s"');
  expect(play.run.blocked).toBeNull();
  expect(play.run.newEvents).toEqual([]);
});

test("ctx used inside a step is also refused during a turn of the same instance", async () => {
  // The step waits for a promise that its orchestration settles in a later drain.
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      void ctx.step("s", async () => {
        await gate;
        try {
          void ctx.run("from inside");
        } catch (error) {
          seen.push(codeOf(error));
        }
      });
      await ctx.waitFor("go");
      release();
      await ctx.sleep("1d");
    },
    { checks: "end" },
  );
  const step = play.run.openTasks.get(2);
  if (step?.kind !== "step") throw new Error("the step must be open");
  const entered = asyncContext.run({ kind: "step", name: "s", instanceId: "i" }, async () =>
    step.fn({} as Parameters<typeof step.fn>[0]),
  );
  const turn = await play.turn(raised("go"));
  await entered;
  expect(seen).toEqual(["GUARD_VIOLATION"]);
  expect(turn.brief).toEqual(["EventReceived go", "TimerCreated"]);
});

test("code after a durable event may use ctx, after any number of macrotasks", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return "end";
  });
  for (let i = 0; i < 5; i++) await immediate();
  expect(outputOf(await play.turn(fired(2)))).toBe("end");
});
