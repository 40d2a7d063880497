// Key-values of an instance, read by its code, by clients and by other instances, across turns, executions and processes.

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const echo = activity("echo", async (value: unknown) => value);
const VALUE_BYTES = 64 * 1024;
const KEYS = 150;

scenario(
  "the code sees its changes to key-values at once; clients see them after the commit",
  () => {
    const main = orchestration("main", async (ctx) => {
      const seen: unknown[] = [];
      const see = (): void => void seen.push(ctx.kv.entries());
      ctx.kv.set("a", 1);
      ctx.kv.set("b", { deep: [null, undefined] });
      see();
      ctx.kv.set("a", "one");
      ctx.kv.delete("b");
      ctx.kv.delete("never there");
      see();
      await ctx.waitFor("go");
      ctx.kv.clear();
      ctx.kv.set("c", true);
      see();
      await ctx.waitFor("go");
      return { seen, size: ctx.kv.size, missing: ctx.kv.get("a") };
    });
    return {
      register: [main],
      run: async (t) => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        expect(await handle.kv.entries()).toEqual([["a", "one"]]);
        await handle.raise("go");
        await t.settle();
        expect(await handle.kv.entries()).toEqual([["c", true]]);
        expect(await handle.kv.get("a")).toBeUndefined();
        await handle.raise("go");
        const [ab, a, c] = [
          [
            ["a", 1],
            ["b", { deep: [null, undefined] }],
          ],
          [["a", "one"]],
          [["c", true]],
        ];
        expect(await t.result(handle)).toEqual({ seen: [ab, a, c], size: 1, missing: undefined });
      },
    };
  },
);

scenario(
  "key-values are readable after every kind of end, and a delete or a restart removes them",
  () => {
    const main = orchestration("main", async (ctx, how: string) => {
      ctx.kv.set("how", how);
      if ((await ctx.waitFor("go")) === "fail") throw new Error("asked to");
      ctx.kv.set("last", how);
    });
    return {
      register: [main],
      run: async (t) => {
        for (const how of ["complete", "fail", "cancel", "terminate"]) {
          const handle = await t.client.start(main, how, { id: how });
          await t.settle();
          if (how === "cancel") await handle.cancel("stop");
          else if (how === "terminate") await handle.terminate("stop");
          else await handle.raise("go", how);
          await t.settle();
          expect(await handle.kv.get("how")).toBe(how);
          expect(await handle.kv.get("last")).toBe(how === "complete" ? how : undefined);
        }
        await t.client.get("complete").restart();
        await t.settle();
        expect(await t.client.get("complete").kv.entries()).toEqual([["how", "complete"]]);
        await t.client.delete("fail");
        expect(await t.client.get("fail").kv.get("how")).toBeUndefined();
        expect(await t.client.get("fail").kv.entries()).toEqual([]);
        t.started.delete("fail");
      },
    };
  },
);

scenario("an execution adds to, overwrites and clears the key-values of earlier executions", () => {
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    ctx.kv.set("count", (ctx.kv.get<number>("count") ?? 0) + 1);
    ctx.kv.set(`round-${round}`, round);
    await ctx.run(echo, round);
    if (round === 3) {
      ctx.kv.clear();
      ctx.kv.set("cleared", round);
    }
    return round < 5 ? ctx.continueAsNew(round + 1) : ctx.kv.entries();
  });
  return {
    register: [main, echo],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      expect(await t.result(handle)).toEqual([
        ["cleared", 3],
        ["count", 2],
        ["round-4", 4],
        ["round-5", 5],
      ]);
    },
  };
});

scenario("a counter incremented in every turn counts every turn once", () => {
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    for (let turn = 0; turn < 5; turn++) {
      ctx.kv.set("count", (ctx.kv.get<number>("count") ?? 0) + 1);
      await ctx.run(echo, ctx.kv.get("count"));
    }
    return round < 3 ? ctx.continueAsNew(round + 1) : ctx.kv.get("count");
  });
  return {
    register: [main, echo],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      expect(await t.result(handle)).toBe(15);
      await t.crashAndRecover();
      expect(await t.client.get("i").kv.get("count")).toBe(15);
    },
  };
});

scenario(
  "reading a key of another instance is recorded, and every replay returns its value",
  () => {
    const source = orchestration("source", async (ctx) => {
      for (let price = 1; ; price++) {
        ctx.kv.set("price", { price });
        await ctx.waitFor("raise");
      }
    });
    const reader = orchestration("reader", async (ctx) => {
      const read: unknown[] = [];
      for (let turn = 0; turn < 2; turn++) {
        read.push(await ctx.kv.of("source").get<{ price: number }>("price"));
        await ctx.waitFor("go");
      }
      ctx.kv.set("own", "value");
      read.push(await ctx.kv.of("source").get("none"), await ctx.kv.of("unknown").get("price"));
      // The instance's key is committed before the read runs.
      return [...read, await ctx.kv.of(ctx.info.instanceId).get("own")];
    });
    return {
      register: [source, reader],
      run: async (t) => {
        const origin = await t.client.start(source, undefined, { id: "source" });
        await t.settle();
        const handle = await t.client.start(reader, undefined, { id: "reader" });
        await t.settle();
        await origin.raise("raise");
        await t.settle();
        await handle.raise("go");
        await t.settle();
        await origin.raise("raise");
        await t.crashAndRecover();
        await t.client.raise("reader", "go");
        expect(await t.result(t.client.get("reader"))).toEqual([
          { price: 1 },
          { price: 2 },
          undefined,
          undefined,
          "value",
        ]);
      },
    };
  },
);

scenario("parents, children and instances of the same name have separate key-values", () => {
  const child = orchestration("child", async (ctx, value: number) => {
    const before = ctx.kv.get("key");
    ctx.kv.set("key", value);
    await ctx.run(echo, value);
    return { before, after: ctx.kv.get("key") };
  });
  const parent = orchestration("parent", async (ctx) => {
    ctx.kv.set("key", "parent");
    const children = await ctx.all([1, 2].map((value) => ctx.call(child, value)));
    return { children, own: ctx.kv.get("key") };
  });
  return {
    register: [parent, child, echo],
    run: async (t) => {
      const handle = await t.client.start(parent, undefined, { id: "p" });
      expect(await t.result(handle)).toEqual({
        children: [
          { before: undefined, after: 1 },
          { before: undefined, after: 2 },
        ],
        own: "parent",
      });
    },
  };
});

scenario("writes inside races, joins and timers apply in the order in which the code ran", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    await ctx.all(
      ["a", "b"].map((name) => async () => {
        ctx.kv.set("last", await ctx.run(work.activity, name));
        ctx.kv.set(name, true);
      }),
    );
    await ctx.race({
      late: async () => {
        await ctx.sleep("1m");
        ctx.kv.set("raced", "timer");
      },
      lost: async () => {
        await ctx.sleep("2m");
        ctx.kv.set("raced", "never");
      },
    });
    return ctx.kv.entries();
  });
  return {
    register: [main, work.activity],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("b", "b");
      await work.finish("a", "a");
      await t.advance("3m");
      expect(await t.result(handle)).toEqual([
        ["a", true],
        ["b", true],
        ["last", "a"],
        ["raced", "timer"],
      ]);
    },
  };
});

scenario("pruneOlderThan uses the times at which keys were set, also in this turn", () => {
  const main = orchestration("main", async (ctx, isFirst: boolean): Promise<unknown> => {
    if (isFirst) {
      ctx.kv.set("previous execution", 1);
      await ctx.sleep("1h");
      return ctx.continueAsNew(false);
    }
    ctx.kv.set("old", 1);
    await ctx.sleep("10m");
    ctx.kv.set("young", 1);
    const counts = [ctx.kv.pruneOlderThan("1h"), ctx.kv.pruneOlderThan("5m")];
    const left = ctx.kv.entries().map(([key]) => key);
    await ctx.sleep("1m");
    ctx.kv.set("of this turn", 1);
    counts.push(ctx.kv.pruneOlderThan(0));
    return { counts, left, rest: ctx.kv.entries().map(([key]) => key) };
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, true, { id: "i" });
      await t.advance("1h");
      await t.advance("10m");
      await t.advance("1m");
      expect(await t.result(handle)).toEqual({
        counts: [1, 1, 1],
        left: ["young"],
        rest: ["of this turn"],
      });
    },
  };
});

scenario("empty keys, values beyond JSON and prototype names are valid", () => {
  const values: readonly (readonly [string, unknown])[] = [
    ["", ""],
    ["__proto__", new Map([["a", 1n]])],
    ["constructor", new Date(5)],
    ["ключ 🔑", [undefined, null, -0]],
  ];
  const main = orchestration("main", async (ctx) => {
    for (const [key, value] of values) ctx.kv.set(key, value);
    await ctx.run(echo, 1);
    return ctx.kv.entries();
  });
  return {
    register: [main, echo],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(values);
      expect(await handle.kv.entries()).toEqual(values);
      expect(await handle.kv.get("__proto__")).toEqual(new Map([["a", 1n]]));
    },
  };
});

scenario(
  "150 keys of 64 KiB are accepted; one key or byte more is refused at the call, in any execution",
  () => {
    const large = "x".repeat(VALUE_BYTES - 2);
    const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
      const codes: unknown[] = [];
      const refused = (call: () => void): void => {
        try {
          call();
        } catch (error) {
          codes.push((error as { code?: string }).code);
        }
      };
      if (round === 1) {
        for (let key = 0; key < KEYS; key++) ctx.kv.set(`key-${key}`, key === 0 ? large : key);
        return ctx.continueAsNew(2);
      }
      refused(() => ctx.kv.set("one more", 1)); // keys of the previous execution count
      refused(() => ctx.kv.set("key-0", `${large}x`));
      ctx.kv.set("key-0", "an old key");
      ctx.kv.delete("key-1");
      ctx.kv.set("one more", 1); // there is capacity again
      refused(() => ctx.kv.set("and another", 1));
      ctx.kv.clear();
      ctx.kv.set("after clear", 1);
      return { codes, size: ctx.kv.size };
    });
    return {
      register: [main],
      run: async (t) => {
        const handle = await t.client.start(main, 1, { id: "i" });
        expect(await t.result(handle)).toEqual({ codes: Array(3).fill("LIMIT_EXCEEDED"), size: 1 });
      },
    };
  },
);

scenario("many instances write and read many keys concurrently, and each reads its values", () => {
  const main = orchestration("main", async (ctx, number: number): Promise<unknown> => {
    for (let turn = 0; turn < 5; turn++) {
      for (let key = 0; key < 10; key++) ctx.kv.set(`${key}`, { number, turn, key });
      await ctx.run(echo, turn);
    }
    return ctx.kv.get<{ number: number; turn: number }>("9");
  });
  return {
    register: [main, echo],
    run: async (t) => {
      const handles = await Promise.all(
        Array.from({ length: 20 }, (_, n) => t.client.start(main, n, { id: `i-${n}` })),
      );
      for (const [number, handle] of handles.entries()) {
        expect(await t.result(handle)).toEqual({ number, turn: 4, key: 9 });
        expect(await handle.kv.entries()).toHaveLength(10);
      }
    },
  };
});
