// Awaits of what is not durable, and ctx used where it may not be: refused with a clear message.

import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { asyncContext } from "../../src/core/async-context.ts";
import { isPerdureError } from "../../src/core/errors.ts";
import { completed, fired, raised } from "./bodies.ts";
import { begin, outputOf, type Handler } from "./support.ts";

const never = new Promise<never>(() => undefined);
const codeOf = (error: unknown): string => (isPerdureError(error) ? error.code : String(error));

test("an await of a promise that never settles blocks, with a message that says what to do", async () => {
  const play = await begin(async () => never);
  expect(play.last.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  expect(play.last.blocked?.message).toContain("ctx.run");
  expect(play.last.blocked?.message).toContain("ctx.sleep");
});

test("an await of a host timer blocks although it would fire", async () => {
  const play = await begin(async () => delay(1), { checks: "end" });
  expect(play.last.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
});

test("a foreign await in a later turn blocks that turn, and what it was given is not recorded", async () => {
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

test("a foreign await beside something durable blocks when nothing durable is left", async () => {
  const play = await begin(async (ctx) => {
    await Promise.all([ctx.run("a"), never]);
  });
  expect(play.last.blocked).toBeNull();
  expect((await play.turn(completed(2))).blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
});

test("promises that settle by themselves in the same drain are no foreign awaits", async () => {
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
      void ctx.run("keeps it open");
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
  expect(play.run.fresh).toEqual([]);
});

test("a host timer that comes due within a turn of many drains finds none of them open", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      await ctx.event("a");
      await ctx.event("b");
      void ctx.sleep("1d");
      const due = new Promise<void>((resolve) => setTimeout(resolve, 0));
      // Due before the next macrotask: the loop's next round fires it, whatever else is waiting.
      for (const end = performance.now() + 3; performance.now() < end;);
      await due;
      try {
        void ctx.run("smuggled");
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
  expect(turn.brief).not.toContain("ActivityScheduled smuggled");
});

test("every use of ctx outside a turn is refused", async () => {
  const seen: string[] = [];
  await begin(
    async (ctx) => {
      const open = ctx.run("keeps it open");
      await delay(1);
      for (const use of [
        () => ctx.run("a"),
        () => ctx.step("s", () => 1),
        () => ctx.sleep(1),
        () => ctx.event("e"),
        () => ctx.call("c"),
        () => ctx.startDetached("d", 1, { id: "d" }),
        () => ctx.continueAsNew(undefined),
        () => ctx.all([]),
        () => ctx.scope(() => 1),
        () => ctx.shield(() => 1),
        () => ctx.defer(() => 1),
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
  expect(play.run.fresh).toEqual([]);
  expect(play.run.blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
});

test("code that fails after a host timer is blocked, and its compensations do not run", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      ctx.defer(() => seen.push("compensated"));
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

test("a compensation that waits for a host timer is blocked, and the next one does not run", async () => {
  const seen: string[] = [];
  const play = await begin(
    async (ctx) => {
      ctx.defer(() => seen.push("next"));
      ctx.defer(async () => {
        void ctx.run("keeps it open");
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

test("a run blocked between turns records nothing in its next turn and consumes nothing", async () => {
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

test("ctx of one instance used in another one's turn is refused", async () => {
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

test("ctx used inside a step or an activity throws GUARD_VIOLATION and blocks nothing", async () => {
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
  const step = play.run.open.get(2);
  if (step?.kind !== "step") throw new Error("The step is open.");
  await asyncContext.run({ kind: "step", name: "s", instanceId: "i" }, async () =>
    step.fn({} as Parameters<typeof step.fn>[0]),
  );
  expect(seen).toHaveLength(3);
  for (const text of seen)
    expect(text).toContain('GUARD_VIOLATION ctx was used inside the step "s"');
  expect(play.run.blocked).toBeNull();
  expect(play.run.fresh).toEqual([]);
});

test("ctx used inside a step that goes on within a turn of its own instance is refused too", async () => {
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
      await ctx.event("go");
      release();
      await ctx.sleep("1d");
    },
    { checks: "end" },
  );
  const step = play.run.open.get(2);
  if (step?.kind !== "step") throw new Error("The step is open.");
  const entered = asyncContext.run({ kind: "step", name: "s", instanceId: "i" }, async () =>
    step.fn({} as Parameters<typeof step.fn>[0]),
  );
  const turn = await play.turn(raised("go"));
  await entered;
  expect(seen).toEqual(["GUARD_VIOLATION"]);
  expect(turn.brief).toEqual(["EventReceived go", "TimerCreated"]);
});

test("what a durable event leads to is a turn, however many macrotasks passed before it", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    return "end";
  });
  for (let i = 0; i < 5; i++) await immediate();
  expect(outputOf(await play.turn(fired(2)))).toBe("end");
});
