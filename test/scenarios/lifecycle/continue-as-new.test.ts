// continueAsNew: a new execution with an empty history, and the data that it carries over (semantics 21).

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { sizeOn } from "../../support/test-store.ts";
import { scenario } from "../support/scenario.ts";

scenario("each execution has a separate history, and the last one gives the result", () => {
  const counter = orchestration("counter", async (ctx, n: number): Promise<string> => {
    await ctx.sleep("1m");
    return n < 4 ? ctx.continueAsNew(n + 1) : `execution ${ctx.info.executionId}, n = ${n}`;
  });
  return {
    register: [counter],
    run: async (t) => {
      const handle = await t.client.start(counter, 1, { id: "i" });
      await t.advance("2m");
      await t.deploy();
      await t.advance("2m");
      expect(await t.result(handle)).toBe("execution 4, n = 4");
      const executions = await handle.executions();
      expect(executions.map(({ execution, status }) => `${execution} ${status}`)).toEqual([
        "1 continuedAsNew",
        "2 continuedAsNew",
        "3 continuedAsNew",
        "4 completed",
      ]);
      for (const { execution } of executions) {
        const events = await t.events(handle, execution);
        expect(events[0]).toMatchObject({ input: String(execution), sequence: 1 });
        expect(events).toHaveLength(4);
      }
    },
  };
});

scenario("continueAsNew keeps attributes, empties the history and draws new random values", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<unknown> => {
    ctx.kv.set(`uuid-${n}`, ctx.uuid());
    ctx.kv.set(`random-${n}`, ctx.random());
    if (n < 3) return ctx.continueAsNew(n + 1);
    return [ctx.info.attributes, ctx.info.historyLength];
  });
  return {
    register: [main],
    run: async (t) => {
      const options = { id: "i", attributes: { customer: "42" } };
      const handle = await t.client.start(main, 1, options);
      expect(await t.result(handle)).toEqual([{ customer: "42" }, 1]);
      const drawn = (await handle.kv.entries()).map(([, value]) => value);
      expect(drawn).toHaveLength(6);
      expect(new Set(drawn).size).toBe(6);
    },
  };
});

scenario("continueAsNew ends the execution also without a return and before a wait", () => {
  const forgot = orchestration("forgot", async (ctx, n: number) => {
    if (n === 1) void ctx.continueAsNew(2);
    return n;
  });
  const waits = orchestration("waits", async (ctx, n: number) => {
    if (n === 1) void ctx.continueAsNew(2);
    if (n === 1) await ctx.sleep("1d");
    return n;
  });
  return {
    register: [forgot, waits],
    run: async (t) => {
      const first = await t.client.start(forgot, 1, { id: "forgot" });
      const second = await t.client.start(waits, 1, { id: "waits" });
      expect(await t.result(first)).toBe(2);
      expect(await t.result(second)).toBe(2);
    },
  };
});

scenario("continueAsNew cancels open activities and drops their late results", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx, n: number): Promise<string> => {
    const task = ctx.run(work.activity, `w${n}`);
    if (n === 2) return task;
    await ctx.sleep("1m");
    return ctx.continueAsNew(2);
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.advance("1m");
      expect(work.aborts).toHaveLength(1);
      await work.finishVisit(0, "late"); // same sequence number as the activity of the new execution
      expect((await handle.describe()).status).toBe("running");
      await work.finish("w2", "right");
      expect(await t.result(handle)).toBe("right");
    },
  };
});

scenario("continueAsNew drops open timers and waits of the old execution", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<string> => {
    if (n === 1) {
      void ctx.sleep("10m");
      void ctx.waitFor("x");
      await ctx.sleep("1m");
      return ctx.continueAsNew(2);
    }
    const winner = await ctx.race({ timer: ctx.sleep("1h"), x: ctx.waitFor("x") });
    return `${winner.key} ${String(winner.value)}`;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.advance("30m"); // past the timer of the first execution, which has the same sequence as a timer of the second
      expect((await handle.describe()).status).toBe("running");
      await handle.raise("x", "for the second");
      expect(await t.result(handle)).toBe("x for the second");
    },
  };
});

scenario("each execution has different idempotency keys", () => {
  const keys: string[] = [];
  const work = activity("work", (_: unknown, { idempotencyKey }) => void keys.push(idempotencyKey));
  const main = orchestration("main", async (ctx, n: number): Promise<void> => {
    await ctx.run(work, null);
    if (n < 3) return ctx.continueAsNew(n + 1);
  });
  return {
    register: [work, main],
    run: async (t) => {
      await t.result(await t.client.start(main, 1, { id: "i" }));
      expect(new Set(keys).size).toBe(3);
    },
  };
});

scenario("an instance can run many executions", () => {
  const last = sizeOn({ sqlite: 300, postgres: 100 });
  const main = orchestration("main", (ctx, n: number): Promise<number> =>
    n === last ? Promise.resolve(n) : ctx.continueAsNew(n + 1),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      expect(await t.result(handle)).toBe(last);
      expect((await handle.describe()).execution).toBe(last);
    },
  };
});

scenario("compensations do not run on continueAsNew", () => {
  const undone: string[] = [];
  const undo = activity("undo", (name: string) => void undone.push(name));
  const main = orchestration("main", async (ctx, n: number): Promise<number> => {
    ctx.compensate(() => ctx.run(undo, `execution ${n}`));
    await ctx.sleep("1s");
    return n === 2 ? n : ctx.continueAsNew(2);
  });
  return {
    register: [undo, main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.advance("2s");
      expect(await t.result(handle)).toBe(2);
      expect(undone).toEqual([]);
    },
  };
});
