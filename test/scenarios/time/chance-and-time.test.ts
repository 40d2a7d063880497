// now, uuid, random, info and log: their values follow from history (semantics 8).

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { deterministicUuid } from "../../../src/core/replay/deterministic.ts";
import { scenario } from "../support/scenario.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

scenario("uuid and random differ between calls and are the same at every replay", () => {
  const main = orchestration("main", async (ctx) => {
    const uuids = [ctx.uuid(), ctx.uuid()];
    const numbers = [ctx.random()];
    await ctx.sleep("1m");
    uuids.push(ctx.uuid());
    numbers.push(ctx.random(), ctx.random());
    await ctx.sleep("1m");
    return { uuids, numbers };
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await t.deploy();
      await t.advance("1m");
      const { uuids, numbers } = await t.result(handle);
      for (const uuid of uuids) expect(uuid).toMatch(UUID);
      const [started] = await t.events(handle);
      const seed = started?.kind === "OrchestrationStarted" ? started.seed : "";
      // Derived from the seed, the last delivered event and the number of the call since. This must never change.
      const places = [
        [1, 0],
        [1, 1],
        [3, 0],
      ] as const;
      expect(uuids).toEqual(places.map(([at, call]) => deterministicUuid(seed, at, call)));
      expect(new Set(uuids).size).toBe(3);
      expect(new Set(numbers).size).toBe(3);
      for (const number of numbers) expect(number >= 0 && number < 1).toBe(true);
      expect(await t.story(handle)).toHaveLength(6); // uuid and random add no events
    },
  };
});

scenario("uuids used as activity inputs and child ids are the same at replay", () => {
  const seen: string[] = [];
  const note = activity("note", (id: string) => {
    seen.push(id);
    return id;
  });
  const child = orchestration("child", async (ctx) => ctx.info.instanceId);
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(note, ctx.uuid());
    await ctx.sleep("1m");
    const id = ctx.uuid();
    const [second, kid] = await ctx.all([ctx.run(note, id), ctx.call(child, undefined, { id })]);
    return [first, second, kid === id];
  });
  return {
    register: [note, child, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.deploy();
      await t.advance("1m");
      expect(await t.result(handle)).toEqual([...seen, true]);
    },
  };
});

scenario("instances and children draw different uuids", () => {
  const child = orchestration("child", async (ctx) => ctx.uuid());
  const main = orchestration("main", async (ctx, n: number): Promise<string[]> => {
    const own = ctx.uuid();
    const kids = await ctx.all([ctx.call(child), ctx.call(child)]);
    return n === 1 ? [own, ...kids] : ctx.continueAsNew(n - 1);
  });
  return {
    register: [child, main],
    run: async (t) => {
      const a = await t.result(await t.client.start(main, 1, { id: "a" }));
      const b = await t.result(await t.client.start(main, 1, { id: "b" }));
      expect(new Set([...a, ...b]).size).toBe(6);
    },
  };
});

scenario("now is the time of the last delivered event and never goes back", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const stamps = [ctx.now().getTime()];
    await ctx.run(work.activity, "w");
    stamps.push(ctx.now().getTime(), ctx.now().getTime());
    await ctx.sleep("1m");
    stamps.push(ctx.now().getTime());
    return stamps;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      t.environment.jumpWallClock(-3_600_000);
      await work.finish("w", null);
      t.environment.jumpWallClock(3_600_000);
      await t.advance("2m");
      const stamps = await t.result(handle);
      expect(stamps).toEqual([...stamps].sort((a, b) => a - b));
      expect(stamps[0]).toBe(begun);
    },
  };
});

scenario("now inside races and joins is the time at which each branch continued", () => {
  const main = orchestration("main", async (ctx) => {
    const begun = ctx.now().getTime();
    const since = (): number => ctx.now().getTime() - begun;
    const joined = await ctx.all([
      ctx.sleep("2s").map(since),
      ctx.sleep("1s").map(since),
      async () => {
        await ctx.sleep("500ms");
        const first = since();
        await ctx.sleep("1s");
        return [first, since()];
      },
    ]);
    const raced = await ctx.race([ctx.sleep("3s").map(since), ctx.sleep("1s").map(since)]);
    return [joined, raced];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      expect(await t.result(handle)).toEqual([
        [2_000, 1_000, [500, 1_500]],
        { index: 1, value: 3_000 },
      ]);
    },
  };
});

scenario("info has the identity of the instance and the length of its history", () => {
  const main = orchestration(
    "main",
    async (ctx) => {
      const { instanceId, executionId, name, version, parent, attributes } = ctx.info;
      const lengths = [ctx.info.historyLength];
      await ctx.sleep("1m");
      lengths.push(ctx.info.historyLength);
      await ctx.all([ctx.sleep("1m"), ctx.sleep("1m")]);
      lengths.push(ctx.info.historyLength);
      return { instanceId, executionId, name, version, parent, attributes, lengths };
    },
    { version: "3.2.1" },
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i", attributes: { a: "b" } });
      await t.advance("1m");
      await t.deploy();
      await t.advance("1m");
      expect(await t.result(handle)).toEqual({
        ...{ instanceId: "i", executionId: 1, name: "main", version: "3.2.1" },
        ...{ parent: undefined, attributes: { a: "b" }, lengths: [1, 3, 7] },
      });
    },
  };
});

scenario("isReplaying is false exactly once at each point of the code", () => {
  const fresh: string[] = [];
  const main = orchestration("main", async (ctx) => {
    const mark = (name: string): void => {
      if (!ctx.info.isReplaying) fresh.push(name);
    };
    mark("start");
    await ctx.sleep("1m");
    mark("after the first sleep");
    await ctx.sleep("1m");
    mark("after the second sleep");
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await t.deploy();
      await t.advance("1m");
      await t.result(handle);
      expect(fresh).toEqual(["start", "after the first sleep", "after the second sleep"]);
    },
  };
});

scenario("each log line is written once, with its instance id", () => {
  const main = orchestration("main", async (ctx) => {
    ctx.log.info("before");
    await ctx.sleep("1m");
    ctx.log.warn("between", { n: 1 });
    await ctx.sleep("1m");
    ctx.log.error("after");
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await t.deploy();
      await t.advance("1m");
      await t.result(handle);
      expect(t.logs).toEqual([
        { level: "info", message: "before", instance: "i" },
        { level: "warn", message: "between", instance: "i" },
        { level: "error", message: "after", instance: "i" },
      ]);
    },
  };
});

scenario("ctx can be destructured", () => {
  const work = activity("work", (n: number) => n + 1);
  const main = orchestration("main", async ({ run, sleep, all, now, uuid, log, info }) => {
    const [a, b] = await all([run(work, 1), run(work, 2)]);
    await sleep("1s");
    log.debug(uuid());
    return [a, b, now() instanceof Date, info.name];
  });
  return {
    register: [work, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(await t.result(handle)).toEqual([2, 3, true, "main"]);
    },
  };
});
