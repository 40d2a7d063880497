// Edge cases: unusual values, large counts and unusual code.

import { expect, test } from "vitest";
import { drain } from "../../src/core/context/async-context.ts";
import { defaultCodec } from "../../src/core/values/codec.ts";
import type { OrchestrationContext } from "../../src/core/context/types.ts";
import { orchestration } from "../../src/core/define/definitions.ts";
import { DEFAULT_LIMITS } from "../../src/core/values/limits.ts";
import { orchestrationMain } from "../../src/core/replay/orchestration-main.ts";
import { Run } from "../../src/core/replay/run.ts";
import {
  cancel,
  completed,
  encode,
  fired,
  here,
  raised,
  ranDone,
  started,
  type Given,
} from "./bodies.ts";
import { begin, failureOf, outputOf, type Handler } from "./support.ts";

test("a timer of zero milliseconds still goes through the store", async () => {
  const play = await begin(async (ctx) => ctx.sleep(0));
  expect(play.last.item.timers).toEqual([{ kind: "timer", sequence: 2, delayMs: 0 }]);
  expect(play.last.ended).toBeNull();
  expect((await play.turn(fired(2))).ended).not.toBeNull();
});

test("a timer longer than the maximum of a host timer is one timer", async () => {
  const play = await begin(async (ctx) => ctx.sleep("400d"));
  expect(play.last.item.timers).toEqual([
    { kind: "timer", sequence: 2, delayMs: 400 * 86_400_000 },
  ]);
});

test("a timer with a due time in the past is created with that time", async () => {
  const play = await begin(async (ctx) => ctx.sleep(new Date(0)));
  expect(play.last.item.timers).toEqual([{ kind: "timer", sequence: 2, dueAt: 0 }]);
});

test("empty strings are values: input, result, payload, reason", async () => {
  const play = await begin(
    async (ctx, input: string) => [input, await ctx.run("a", ""), await ctx.waitFor("e")],
    { input: "" },
  );
  await play.turn(completed(2, ""));
  expect(outputOf(await play.turn(raised("e", "")))).toEqual(["", "", ""]);
  const cancelled = await begin(async (ctx) => ctx.sleep(1));
  expect(failureOf(await cancelled.turn(cancel(""))).failure.message).toBe("cancelled: ");
});

test("undefined and null stay different everywhere", async () => {
  const play = await begin(
    async (ctx, input: unknown) => [input, await ctx.run("a", null), await ctx.waitFor("e")],
    { input: null },
  );
  await play.turn(completed(2, undefined));
  expect(outputOf(await play.turn(raised("e", null)))).toEqual([null, undefined, null]);
});

test("large payloads pass through unchanged", async () => {
  const large = "🦊".repeat(490_000);
  const play = await begin(async (ctx) => ctx.run("a", large), { checks: "end" });
  expect(play.last.item.tasks[0]?.input).toBe(encode(large));
  expect(outputOf(await play.turn(completed(2, large)))).toBe(large);
  await play.verify();
});

test("the code sees a copy of a result, never the object that was delivered", async () => {
  const result = { n: 1 };
  const play = await begin(async (ctx) => {
    const seen = (await ctx.run("a")) as { n: number };
    seen.n = 2;
    await ctx.sleep(1);
    return seen;
  });
  await play.turn(completed(2, result));
  expect(result).toEqual({ n: 1 });
  expect(outputOf(await play.turn(fired(4)))).toEqual({ n: 2 });
});

test("an input changed after the call is recorded with its value at the call", async () => {
  const play = await begin(async (ctx) => {
    const input = { n: 1 };
    const task = ctx.run("a", input);
    input.n = 2;
    await task;
  });
  expect(play.last.item.tasks[0]?.input).toBe('{"n":1}');
});

test("identical activities get their own results", async () => {
  const count = 200;
  const play = await begin(
    async (ctx) => ctx.all(Array.from({ length: count }, () => ctx.run("same", 1))),
    { checks: "end" },
  );
  const backwards = Array.from({ length: count }, (_, i) => completed(count + 1 - i, count - i));
  const turn = await play.turn(...backwards);
  expect(outputOf(turn)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  await play.verify();
});

test("2,000 parallel tasks run, finish in any order and replay", async () => {
  const count = 2_000;
  const play = await begin(
    async (ctx) => {
      const values = await ctx.all(Array.from({ length: count }, (_, i) => ctx.run("a", i)));
      return values.length;
    },
    { checks: "end" },
  );
  expect(play.last.item.tasks).toHaveLength(count);
  const shuffled = Array.from({ length: count }, (_, i) => completed(2 + ((i * 7) % count), i));
  expect(outputOf(await play.turn(...shuffled))).toBe(count);
  await play.verify();
});

test("a race of 2,000 cancels 1,999", async () => {
  const play = await begin(
    async (ctx) => ctx.race(Array.from({ length: 2_000 }, (_, i) => ctx.run("a", i))),
    { checks: "end" },
  );
  const turn = await play.turn(completed(1_000, "won"));
  expect(outputOf(turn)).toEqual({ index: 998, value: "won" });
  expect(turn.item.cancelledTasks).toHaveLength(1_999);
  await play.verify();
});

test("2,000 function branches run and are cancelled", async () => {
  const play = await begin(
    async (ctx) => {
      await ctx.race([
        ...Array.from({ length: 2_000 }, (_, i) => () => ctx.run("a", i)),
        ctx.waitFor("stop"),
      ]);
      return "stopped";
    },
    { checks: "end" },
  );
  const turn = await play.turn(raised("stop"));
  expect(turn.events).toHaveLength(2_002);
  expect(outputOf(turn)).toBe("stopped");
  await play.verify();
});

test("1,000 messages in one turn are delivered one at a time, in order", async () => {
  const play = await begin(
    async (ctx) => {
      const seen: unknown[] = [];
      for (let i = 0; i < 1_000; i++) seen.push(await ctx.waitFor("e"));
      return seen;
    },
    { checks: "end" },
  );
  const turn = await play.turn(...Array.from({ length: 1_000 }, (_, i) => raised("e", i)));
  expect(outputOf(turn)).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  await play.verify();
});

test("code that never awaits completes in its first turn, and its calls have no effect", async () => {
  const play = await begin(async (ctx) => {
    void ctx.run("a");
    void ctx.sleep(1);
    void ctx.call("c");
    return "end";
  });
  expect(outputOf(play.last)).toBe("end");
  expect(play.last.item).toMatchObject({ tasks: [], timers: [], starts: [], sends: [] });
});

test("a function that is not async also runs", async () => {
  const play = await begin((ctx) => ctx.run("a"));
  expect(outputOf(await play.turn(completed(2, "A")))).toBe("A");
});

test("continueAsNew without an await still continues when the code then returns", async () => {
  const play = await begin(async (ctx) => {
    void ctx.continueAsNew(undefined);
    return "ignored";
  });
  expect(play.last.ended?.kind).toBe("OrchestrationContinuedAsNew");
});

test("continueAsNew without an await still continues when the code then waits", async () => {
  const play = await begin(async (ctx) => {
    void ctx.continueAsNew(undefined);
    await ctx.run("a");
  });
  expect(play.last.brief.slice(1)).toEqual([
    "ActivityScheduled a",
    "ActivityCancelRequested #2",
    "OrchestrationContinuedAsNew",
  ]);
  expect(play.last.item.tasks).toEqual([]);
});

test("of two continueAsNew calls the first counts", async () => {
  const play = await begin(async (ctx) => {
    void ctx.continueAsNew(1 as never);
    return ctx.continueAsNew(2 as never);
  });
  expect(play.last.ended).toMatchObject({ input: "1" });
});

test("continueAsNew to another version records the version", async () => {
  const play = await begin(async (ctx) => ctx.continueAsNew(undefined, { version: "2.0.0" }));
  expect(play.last.ended).toMatchObject({ orchestrationVersion: "2.0.0" });
  expect(play.last.item.change).toMatchObject({ kind: "continued", version: "2.0.0" });
});

test("a cancel in the turn that would continue as new prevents the continuation (4b)", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a");
    return ctx.continueAsNew(undefined);
  });
  const turn = await play.turn(completed(2), cancel("in time"));
  expect(turn.ended).toMatchObject({ kind: "OrchestrationFailed", outcome: "cancelled" });
  expect(turn.consumed).toHaveLength(1);
});

test("a return right after a race ends in the same turn as the race", async () => {
  const play = await begin(async (ctx) => {
    const { key } = await ctx.race({ a: ctx.run("a"), b: ctx.run("b") });
    return key;
  });
  expect((await play.turn(completed(3))).brief).toEqual([
    "ActivityCompleted #3",
    "ActivityCancelRequested #2",
    "OrchestrationCompleted",
  ]);
});

test("the handler is called once per run, for any number of turns", async () => {
  let calls = 0;
  const play = await begin(
    async (ctx) => {
      calls++;
      for (let i = 0; i < 3; i++) await ctx.run("a");
    },
    { checks: "end" },
  );
  await play.turn(completed(2));
  await play.turn(completed(4));
  await play.turn(completed(6));
  expect(calls).toBe(1);
});

test("a turn without inputs appends nothing", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn();
  expect(turn.brief).toEqual([]);
  expect(turn.item.row).toBeNull();
  expect(turn.open).toEqual(["2 activity a"]);
});

test("code that makes more calls than the limit without waiting is blocked", async () => {
  const definition = orchestration("main", async (ctx: OrchestrationContext) => {
    for (let i = 0; i < 11; i++) void ctx.sleep(1);
    await ctx.sleep(1);
  });
  const endless = new Run({
    instanceId: "i",
    execution: 1,
    version: "1.0.0",
    priority: 3,
    codec: defaultCodec,
    main: orchestrationMain(definition),
    history: [],
    limits: { ...DEFAULT_LIMITS, historyEventsMax: 10 },
  });
  drain.run = endless;
  endless.deliver(started(), 1);
  drain.run = null;
  expect(endless.blocked).toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(endless.blocked?.message).toContain("more than 10 calls");
});

test("deep recursion of helpers and long chains of awaits replay", async () => {
  const nested: Handler<undefined> = async (ctx) => {
    const down = async (depth: number): Promise<number> =>
      depth === 0 ? ((await ctx.run("bottom")) as number) : (await down(depth - 1)) + 1;
    return down(500);
  };
  const play = await begin(nested);
  expect(outputOf(await play.turn(completed(2, 0)))).toBe(500);
});

test("an async generator and for await work over tasks", async () => {
  const play = await begin(async (ctx) => {
    async function* pages(): AsyncGenerator<unknown> {
      for (let page = 0; page < 3; page++) yield await ctx.run("page", page);
    }
    const seen: unknown[] = [];
    for await (const page of pages()) seen.push(page);
    return seen;
  });
  const given: Given[] = [here(ranDone(2, "a")), here(ranDone(4, "b")), here(ranDone(6, "c"))];
  for (const one of given) await play.turn(one);
  expect(outputOf(play.last)).toEqual(["a", "b", "c"]);
});

test("try, catch and finally work as usual", async () => {
  const play = await begin(async (ctx, _input, note) => {
    try {
      await ctx.run("a");
    } catch {
      note("caught");
    } finally {
      await ctx.run("finally");
      note("finally");
    }
  });
  await play.turn(completed(2));
  await play.turn(completed(4));
  expect(play.trace).toEqual(["finally"]);
});
