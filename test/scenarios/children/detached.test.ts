// Detached starts: instances without a parent, independent of the instance that starts them.

import { expect } from "vitest";
import { activity, isPerdureError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const job = orchestration("job", async (ctx, n: number) => {
  await ctx.sleep("1h");
  return n * 10;
});

scenario("a detached instance starts once, has no parent and outlives its starter", () => {
  const main = orchestration("main", async (ctx) => {
    for (const n of [1, 2]) void ctx.startDetached(job, n, { id: `job-${n}` });
    await ctx.sleep("1m");
    return "started";
  });
  return {
    register: [job, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await t.deploy();
      expect(await t.result(handle)).toBe("started");
      await t.advance("1h");
      for (const n of [1, 2]) {
        const info = await t.client.get(`job-${n}`).describe();
        expect(info).toMatchObject({ status: "completed", output: n * 10 });
        expect(info).not.toHaveProperty("parent");
      }
    },
  };
});

scenario(
  "a detached start in the last turn takes effect, also with continueAsNew or a failure",
  () => {
    const main = orchestration("main", async (ctx, how: string): Promise<string> => {
      await ctx.sleep("1m");
      void ctx.startDetached(job, 1, { id: `after-${how}` });
      if (how === "failed") throw new Error("failed");
      return how === "continue" ? ctx.continueAsNew("done") : how;
    });
    return {
      register: [job, main],
      run: async (t) => {
        const ids = ["returned", "continue", "failed"];
        for (const id of ids) await t.client.start(main, id, { id });
        await t.advance("2m");
        for (const id of [...ids, "done"]) {
          expect(await t.client.get(`after-${id}`).exists(), id).toBe(true);
        }
      },
    };
  },
);

scenario("a detached start with an existing id starts nothing and does not fail the caller", () => {
  const main = orchestration("main", async (ctx) => {
    void ctx.startDetached(job, 2, { id: "taken" });
    await ctx.sleep("1m");
    return "fine";
  });
  return {
    register: [job, main],
    run: async (t) => {
      const taken = await t.client.start(job, 1, { id: "taken" });
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1h");
      expect(await t.result(handle)).toBe("fine");
      expect(await t.result(taken)).toBe(10);
    },
  };
});

scenario("reserved and invalid ids are refused at the call", () => {
  const main = orchestration("main", async (ctx) => {
    const codes: unknown[] = [];
    for (const id of ["a::sub::1", "", "x\u0000"]) {
      try {
        void ctx.startDetached(job, 1, { id });
      } catch (error) {
        codes.push(isPerdureError(error) ? error.code : error);
      }
    }
    return codes;
  });
  return {
    register: [job, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(Array.from({ length: 3 }, () => "INVALID_ARGUMENT"));
    },
  };
});

scenario("a chain of instances: each one starts the next", () => {
  const seen: number[] = [];
  const note = activity("note", (n: number) => void seen.push(n));
  const link = orchestration("link", async (ctx, n: number) => {
    await ctx.run(note, n);
    if (n < 5) void ctx.startDetached("link", n + 1, { id: `link-${n + 1}` });
  });
  return {
    register: [note, link],
    run: async (t) => {
      await t.client.start(link, 1, { id: "link-1" });
      await t.settle();
      expect(seen).toEqual([1, 2, 3, 4, 5]);
      expect(await t.client.get("link-5").describe()).toMatchObject({ status: "completed" });
    },
  };
});

scenario("a detached start uses the given version, by default the newest", () => {
  const versions = ["1.0.0", "2.0.0"].map((version) =>
    orchestration("versioned", async (ctx) => ctx.info.version, { version }),
  );
  const [v1] = versions;
  const main = orchestration("main", async (ctx) => {
    void ctx.startDetached("versioned", null, { id: "newest" });
    void ctx.startDetached("versioned", null, { id: "named", version: "1.0.0" });
    if (v1 !== undefined) void ctx.startDetached(v1, undefined, { id: "pinned" });
  });
  return {
    register: [...versions, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const output = async (id: string) => (await t.client.get(id).describe()).output;
      expect(await output("newest")).toBe("2.0.0");
      expect(await output("named")).toBe("1.0.0");
      expect(await output("pinned")).toBe("1.0.0");
    },
  };
});
