// Recovery: the store is closed and reopened, or processes die, while work is in flight. Completed work is not repeated.

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { onlyOn } from "../../support/test-store.ts";
import { scenario } from "../support/scenario.ts";

scenario("an instance continues after its file store is closed and reopened", (t) => {
  const ran: string[] = [];
  const act = activity("act", (name: string) => {
    ran.push(name);
    return name.toUpperCase();
  });
  const main = orchestration("main", async (ctx) => {
    const a = await ctx.run(act, "a");
    await ctx.sleep("1h");
    const b = await ctx.run(act, "b");
    const c = await ctx.waitFor("c");
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

scenario("many instances in flight continue after the file store is reopened", (t) => {
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

scenario("after a process death only activities without a stored result run again", (t) => {
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
      second?.resolve("from the dead process"); // the result of the dead process is dropped
      await t.settle();
      await work.finishVisit(2, "2");
      expect(await t.result(t.client.get("i"))).toEqual(["1", "2"]);
    },
  };
});

scenario("a process death does not use up an attempt of the retry policy", (t) => {
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

scenario("an activity that repeatedly kills its process fails as poison", (t) => {
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

scenario("after a death that follows a commit no committed work is repeated", (t) => {
  const ran: string[] = [];
  const act = activity("act", (name: string) => {
    ran.push(name);
    return name;
  });
  const main = orchestration("main", async (ctx) => {
    await ctx.waitFor("go");
    return [await ctx.run(act, "a"), await ctx.run(act, "b")];
  });
  return {
    register: [act, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const doomed = t.process;
      const other = await t.boot([]); // a separate client that raises the event
      doomed.line.dieInNextCommit("after"); // the turn that schedules "a" is written, but its reply is lost
      await other.client.get("i").raise("go");
      await t.settle();
      expect(ran).toEqual([]); // no activity starts before its commit has returned (I13)
      expect(await t.story(other.client.get("i"))).toContain("ActivityScheduled act");
      await t.boot([act, main]);
      await t.advance("4h");
      expect(await t.result(t.client.get("i"))).toEqual(["a", "b"]);
      expect(ran).toEqual(["a", "b"]);
      void handle;
    },
  };
});

scenario("an orderly shutdown releases its work at once without counting an attempt", (t) => {
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

scenario("a shutdown waits for running activities within its grace period", (t) => {
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
      expect(work.inputs).toEqual(["first"]); // no new activity was started
      await t.boot();
      await work.finish("second", "after");
      expect(await t.result(t.client.get(handle.id))).toEqual(["in time", "after"]);
    },
  };
});

onlyOn("sqlite", "only SQLite has a store in memory", () => {
  scenario("an in-memory store reports its durability as memory", () => {
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

scenario("a step interrupted by four process deaths is not quarantined and completes", (t) => {
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
});

scenario("a step interrupted by five process deaths is quarantined", (t) => {
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
