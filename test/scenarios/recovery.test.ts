// Recovery: a store that is closed and opened again in mid-flight, processes that die; nothing is repeated.

import { expect } from "vitest";
import { activity, orchestration } from "../../src/index.ts";
import { onlyOn } from "../support/test-store.ts";
import { scenario } from "./support/scenario.ts";

scenario("a file store that is closed and opened again goes on where it was", (t) => {
  const ran: string[] = [];
  const act = activity("act", (name: string) => {
    ran.push(name);
    return name.toUpperCase();
  });
  const main = orchestration("main", async (ctx) => {
    const a = await ctx.run(act, "a");
    await ctx.sleep("1h");
    const b = await ctx.run(act, "b");
    const c = await ctx.event("c");
    return [a, b, c, await ctx.run(act, "d")];
  });
  return {
    register: [act, main],
    store: "file",
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("10m");
      await t.reopen();
      await t.advance("1h");
      await t.client.get("i").raise("c", "C");
      await t.reopen();
      expect(await t.result(t.client.get("i"))).toEqual(["A", "B", "C", "D"]);
      expect(ran).toEqual(["a", "b", "d"]);
    },
  };
});

scenario("many instances in mid-flight survive a reopened file, each where it was", (t) => {
  const runs = new Map<string, number>();
  const act = activity("act", (key: string) => void runs.set(key, (runs.get(key) ?? 0) + 1));
  const main = orchestration("main", async (ctx, n: number) => {
    for (let step = 0; step < 4; step++) {
      await ctx.run(act, `${n}.${step}`);
      await ctx.sleep((n + 1) * 1_000);
    }
    return n;
  });
  return {
    register: [act, main],
    store: "file",
    run: async () => {
      for (let n = 0; n < 20; n++) await t.client.start(main, n, { id: `i${n}` });
      await t.advance("5s");
      await t.reopen();
      await t.advance("20s");
      await t.reopen();
      await t.advance("2m");
      for (let n = 0; n < 20; n++) expect(await t.result(t.client.get(`i${n}`))).toBe(n);
      expect([...runs.values()].every((count) => count === 1)).toBe(true);
      expect(runs.size).toBe(80);
    },
  };
});

scenario("an activity whose process dies runs again; one whose result is on disk does not", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => [
    await ctx.run(work.activity, "first"),
    await ctx.run(work.activity, "second"),
  ]);
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await work.finish("first", "1");
      await t.settle();
      const [, second] = work.visits;
      await t.crashAndRecover();
      expect(work.inputs).toEqual(["first", "second", "second"]);
      const again = work.visits[2];
      expect(again?.context.idempotencyKey).toBe(second?.context.idempotencyKey);
      expect(again?.context.attempt).toBe(2);
      second?.resolve("from the dead"); // the dead process's result goes nowhere
      await t.settle();
      await work.finishVisit(2, "2");
      expect(await t.result(t.client.get("i"))).toEqual(["1", "2"]);
    },
  };
});

scenario("a death uses up none of the attempts the user gave", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "w"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.crashAndRecover();
      await t.crashAndRecover();
      expect(work.visits).toHaveLength(3);
      await work.finishVisit(2, "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("an activity that takes its process down again and again is poison", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.run(work.activity, "bomb").catch((reason: unknown) => reason);
    return error instanceof Error ? [error.message, "kind" in error && error.kind] : error;
  });
  return {
    register: [work.activity, main],
    runtime: { attemptsMax: 3 },
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      for (let death = 0; death < 3; death++) await t.crashAndRecover();
      expect(work.visits).toHaveLength(3);
      expect(await t.result(t.client.get("i"))).toEqual([
        expect.stringMatching(/^poison: activity work/),
        "poison",
      ]);
    },
  };
});

scenario("a process that died after its commit repeats nothing of it", (t) => {
  const ran: string[] = [];
  const act = activity("act", (name: string) => {
    ran.push(name);
    return name;
  });
  const main = orchestration("main", async (ctx) => {
    await ctx.event("go");
    return [await ctx.run(act, "a"), await ctx.run(act, "b")];
  });
  return {
    register: [act, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const doomed = t.process;
      const other = await t.boot([]); // a client of its own, to raise the event with
      doomed.line.dieInNextCommit("after"); // the turn that schedules "a" is written, and nobody hears of it
      await other.client.get("i").raise("go");
      await t.settle();
      expect(ran).toEqual([]); // nothing leaves before its commit has returned (I13)
      expect(await t.story(other.client.get("i"))).toContain("ActivityScheduled act");
      await t.boot([act, main]);
      await t.advance("4h");
      expect(await t.result(t.client.get("i"))).toEqual(["a", "b"]);
      expect(ran).toEqual(["a", "b"]);
      void handle;
    },
  };
});

scenario("an orderly shutdown hands its work over at once, and counts nothing against it", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "w"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.deploy(); // no time passes
      expect(work.visits.map((visit) => visit.context.attempt)).toEqual([1, 1]);
      await work.finish("w", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("a shutdown waits for what runs, within its grace", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => [
    await ctx.run(work.activity, "first"),
    await ctx.run(work.activity, "second"),
  ]);
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const closed = t.process.perdure.close({ graceMs: 60_000 });
      await t.advance("1s");
      await work.finish("first", "in time");
      await t.advance("1s");
      await closed;
      expect(work.inputs).toEqual(["first"]); // nothing new was begun
      await t.boot();
      await work.finish("second", "after");
      expect(await t.result(t.client.get(handle.id))).toEqual(["in time", "after"]);
    },
  };
});

onlyOn("sqlite", "a store in memory is one of SQLite's", () => {
  scenario("an in-memory store ends with its process: nothing is found afterwards", () => {
    const main = orchestration("main", (ctx) => ctx.sleep("1h"));
    return {
      register: [main],
      run: async (t) => {
        await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        expect(t.store.durability).toContain("memory");
      },
    };
  });
});

scenario(
  "a step that four deaths of its process cut off is not quarantined, and completes",
  (t) => {
    let isFree = false;
    const main = orchestration("main", (ctx) =>
      ctx.step("long", () => (isFree ? "done" : new Promise<string>(() => undefined))),
    );
    return {
      register: [main],
      run: async () => {
        await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        for (let death = 0; death < 3; death++) await t.crashAndRecover();
        expect((await t.client.get("i").describe()).blocked).toBeUndefined();
        isFree = true;
        await t.crashAndRecover();
        expect(await t.result(t.client.get("i"))).toBe("done");
      },
    };
  },
);

scenario("a step that five deaths of its process cut off is quarantined", (t) => {
  const main = orchestration("main", (ctx) =>
    ctx.step("long", () => new Promise<string>(() => undefined)),
  );
  return {
    register: [main],
    blocked: ["i"],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (let death = 0; death < 6; death++) await t.crashAndRecover();
      expect(await t.client.get("i").describe()).toMatchObject({
        blocked: { code: "QUARANTINE" },
      });
    },
  };
});
