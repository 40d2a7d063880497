// Custom status of an instance, read by its code and by clients, from the start to after the end.

import { expect } from "vitest";
import { activity, orchestration, type InstanceInfo } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const echo = activity("echo", async (value: unknown) => value);
const STATUS_BYTES = 256 * 1024;

const shown = ({ customStatus, customStatusVersion }: InstanceInfo) => [
  customStatus,
  customStatusVersion,
];

scenario("without a setStatus call there is no custom status, and its version is 0", () => {
  const main = orchestration("main", async (ctx) => ctx.status);
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBeUndefined();
      const info = await handle.describe();
      expect(shown(info)).toEqual([undefined, 0]);
      expect(info).not.toHaveProperty("customStatus");
    },
  };
});

scenario("describe shows the status of a running instance and after every kind of end", () => {
  const main = orchestration("main", async (ctx, how: string) => {
    ctx.setStatus({ how });
    if ((await ctx.waitFor("go")) === "fail") throw new Error("asked to");
  });
  return {
    register: [main],
    run: async (t) => {
      const ends = ["complete", "fail", "cancel", "terminate"];
      for (const how of ends) {
        const handle = await t.client.start(main, how, { id: how });
        await t.settle();
        expect(shown(await handle.describe())).toEqual([{ how }, 1]);
        if (how === "cancel") await handle.cancel("stop");
        else if (how === "terminate") await handle.terminate("stop");
        else await handle.raise("go", how);
        await t.settle();
        const info = await handle.describe();
        expect(info.completedAt).toBeDefined();
        expect(shown(info)).toEqual([{ how }, 1]);
      }
    },
  };
});

scenario("the last setStatus call of a turn counts, and the version grows by one per turn", () => {
  const main = orchestration("main", async (ctx) => {
    for (const status of ["one", "two", "three"]) ctx.setStatus(status);
    const seen = ctx.status;
    await ctx.waitFor("go");
    ctx.setStatus("four");
    ctx.setStatus("five");
    return [seen, ctx.status];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(shown(await handle.describe())).toEqual(["three", 1]);
      await handle.raise("go");
      expect(await t.result(handle)).toEqual(["three", "five"]);
      expect(shown(await handle.describe())).toEqual(["five", 2]);
    },
  };
});

scenario("null removes the status, and the version continues to grow", () => {
  const main = orchestration("main", async (ctx) => {
    const seen: unknown[] = [];
    for (const status of ["here", null, "again"]) {
      ctx.setStatus(status);
      seen.push(ctx.status);
      await ctx.waitFor("go");
      seen.push(ctx.status);
    }
    return seen;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const found: unknown[] = [];
      for (let turn = 0; turn < 3; turn++) {
        await t.settle();
        found.push(shown(await handle.describe()));
        await handle.raise("go");
      }
      expect(found).toEqual([
        ["here", 1],
        [undefined, 2],
        ["again", 3],
      ]);
      const seen = ["here", "here", undefined, undefined, "again", "again"];
      expect(await t.result(handle)).toEqual(seen);
    },
  };
});

scenario("a status survives turns without a setStatus call and a crash", () => {
  const main = orchestration("main", async (ctx) => {
    ctx.setStatus({ step: 1, at: new Date(5) });
    for (let turn = 0; turn < 3; turn++) await ctx.run(echo, turn);
    await ctx.waitFor("go");
    return ctx.status;
  });
  return {
    register: [main, echo],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.crashAndRecover();
      const handle = t.client.get("i");
      await handle.raise("go");
      expect(await t.result(handle)).toEqual({ step: 1, at: new Date(5) });
      expect(shown(await handle.describe())).toEqual([{ step: 1, at: new Date(5) }, 1]);
    },
  };
});

scenario("continueAsNew keeps the status, and keeps a removed status absent", () => {
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    const carried = ctx.status;
    await ctx.waitFor("go");
    if (round === 1) ctx.setStatus("first");
    if (round === 3) ctx.setStatus(null);
    return round === 4 ? { carried } : ctx.continueAsNew(round + 1);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      const found: unknown[] = [];
      for (let round = 1; round <= 4; round++) {
        await handle.raise("go");
        await t.settle();
        found.push(shown(await handle.describe()));
      }
      expect(found).toEqual([
        ["first", 1],
        ["first", 1],
        [undefined, 2],
        [undefined, 2],
      ]);
      expect(await t.result(handle)).toEqual({ carried: undefined });
    },
  };
});

scenario("a status of exactly 256 KiB is accepted; one byte more is refused at the call", () => {
  const text = (bytes: number): string => "x".repeat(bytes - 2); // two quotes
  const main = orchestration("main", async (ctx) => {
    ctx.setStatus(text(STATUS_BYTES));
    try {
      ctx.setStatus(text(STATUS_BYTES + 1));
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return "accepted";
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("LIMIT_EXCEEDED");
      expect(shown(await handle.describe())).toEqual([text(STATUS_BYTES), 1]);
    },
  };
});
