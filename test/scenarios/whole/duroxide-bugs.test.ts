// Tests for bugs of duroxide 0.1.26 that no other file covers. docs/contributing/parity.md lists all of them.

import { expect } from "vitest";
import {
  activity,
  ActivityError,
  ChildError,
  defaultCodec,
  orchestration,
  type Codec,
} from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

/** A codec that fails to decode texts that contain the word. */
function cannotDecode(word: string): Codec {
  return {
    encode: (value) => defaultCodec.encode(value),
    decode: (text) => {
      if (text.includes(word)) throw new Error(`cannot read ${word}`);
      return defaultCodec.decode(text);
    },
  };
}

scenario("a second start with another name does not change the code of a running instance", () => {
  const real = orchestration("real", async (ctx) => ctx.waitFor("x"));
  const other = orchestration("other", async () => "swapped");
  return {
    register: [real, other],
    run: async (t) => {
      const handle = await t.client.start(real, undefined, { id: "i" });
      await t.settle();
      await t.client.start(other, undefined, { id: "i" }).catch(() => undefined);
      await t.client.start(other, undefined, { id: "i", onConflict: "useExisting" });
      await t.deploy();
      await handle.raise("x", "still me");
      expect(await t.result(handle)).toBe("still me");
      expect(await handle.describe()).toMatchObject({ name: "real", execution: 1 });
    },
  };
});

scenario("the result of a child called in a later execution reaches that execution", (t) => {
  const work = t.gate<number, string>("work");
  const child = orchestration("child", (ctx, n: number) => ctx.run(work.activity, n));
  const main = orchestration("main", async (ctx, n: number): Promise<string> => {
    if (n < 3) return ctx.continueAsNew(n + 1);
    return ctx.call(child, n);
  });
  return {
    register: [work.activity, child, main],
    run: async () => {
      const handle = await t.client.start(main, 1, { id: "p" });
      await t.settle();
      await t.deploy();
      await work.finish(3, "for the third");
      expect(await t.result(handle)).toBe("for the third");
    },
  };
});

scenario(
  "a child whose output cannot be serialized fails once, and its parent gets a ChildError",
  () => {
    const child = orchestration("child", async () => ({ f: () => 1 }));
    const main = orchestration("main", (ctx) =>
      ctx
        .call(child as never)
        .catch((error: unknown) => (error instanceof ChildError ? "ChildError" : "?")),
    );
    return {
      register: [child, main],
      run: async (t) => {
        const handle = await t.client.start(main, undefined, { id: "p" });
        expect(await t.result(handle)).toBe("ChildError");
        expect(await t.story(t.client.get("p::sub::2"))).toEqual([
          "OrchestrationStarted",
          "OrchestrationFailed failed",
        ]);
      },
    };
  },
);

scenario("a failure that is delivered twice counts once and causes no nondeterminism", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(work.activity, "w").catch((error: unknown) => String(error));
    return [first, await ctx.waitFor("x")];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("w", new Error("once"));
      const record = await t.store.readInstance("i");
      const failure = { category: "application", name: "Error", message: "twice", retryable: true };
      const outcome = { kind: "ActivityFailed", scheduled: 2, attempts: 1, failure };
      const task = { key: record?.key ?? 0, execution: 1, sequence: 2, token: 1 };
      await t.store.commit([{ kind: "completion", task, outcome: JSON.stringify(outcome) }]);
      await t.deploy();
      await handle.raise("x", "on");
      expect(await t.result(handle)).toEqual(["ActivityError: once", "on"]);
    },
  };
});

scenario(
  "an activity input that cannot be decoded fails its call as poison and delays nothing else",
  (t) => {
    const echo = activity("echo", (text: string) => text);
    const main = orchestration("main", async (ctx) => {
      const settled = await ctx.allSettled([ctx.run(echo, "rotten"), ctx.run(echo, "fresh")]);
      return settled.map((one) =>
        one.status === "fulfilled"
          ? one.value
          : one.reason instanceof ActivityError && one.reason.kind,
      );
    });
    return {
      register: [echo, main],
      runtime: { codec: cannotDecode("rotten"), activityConcurrency: 1 },
      run: async () => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        expect(await t.result(handle)).toEqual(["poison", "fresh"]);
      },
    };
  },
);

scenario("a history that cannot be decoded blocks its instance until a process decodes it", (t) => {
  const work = t.gate<string, string>("work");
  const child = orchestration("child", async (ctx) => [
    await ctx.run(work.activity, "a"),
    await ctx.waitFor("x"),
  ]);
  const main = orchestration("main", (ctx) => ctx.call(child, undefined, { id: "kid" }));
  return {
    register: [work.activity, child, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await work.finish("a", "secret");
      await t.stop();
      await t.boot(undefined, { codec: cannotDecode("secret") });
      await t.client.get("kid").raise("x", 1);
      await t.settle();
      const blocked = await t.client.get("kid").describe();
      expect(blocked).toMatchObject({ status: "running", blocked: { code: "HISTORY_CORRUPT" } });
      expect(await t.client.get("p").describe()).toMatchObject({ status: "running" });
      await t.deploy();
      expect(await t.result(t.client.get(handle.id))).toEqual(["secret", 1]);
    },
  };
});

scenario("an instance whose turn repeatedly kills its process is quarantined", (t) => {
  const main = orchestration("main", async (ctx, n: number): Promise<number> => {
    if (n === 1) await ctx.waitFor("go");
    return n === 1 ? ctx.continueAsNew(2) : n;
  });
  const other = orchestration("other", async () => "fine");
  return {
    register: [main, other],
    runtime: { stickyCacheMax: 0 },
    blocked: ["bomb"],
    run: async () => {
      const { client } = t.process;
      await client.start(main, 1, { id: "bomb" });
      await t.settle();
      await t.stop();
      await client.get("bomb").raise("go");
      for (let death = 0; death < 3; death++) {
        await t.boot(undefined, {}, "diesInCommit");
        await t.advance("5h");
      }
      await t.boot();
      await t.advance("5h");
      const info = await t.client.get("bomb").describe();
      expect(info).toMatchObject({ status: "running", blocked: { code: "QUARANTINE" } });
      expect(await t.client.get("bomb").executions()).toHaveLength(info.execution);
      const fine = await t.client.start(other, undefined, { id: "other" });
      expect(await t.result(fine)).toBe("fine");
    },
  };
});

scenario("a cancelled activity does not count as a failure or as a store error", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "w"));
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel();
      await t.settle();
      const stats = t.process.perdure.runtime.stats();
      expect(stats.providerErrors).toBe(0);
      expect(stats.activities).toMatchObject({ started: 1, failed: 0, active: 0 });
      expect(stats.orchestrationsCancelled).toBe(1);
    },
  };
});

scenario("a shutdown without grace ends at once and stops all work of the process", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    await ctx.run(work.activity, "a");
    return ctx.run(work.activity, "b");
  });
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const { runtime } = t.process.perdure;
      const begun = t.now();
      await t.stop();
      await runtime.stopped;
      expect(t.now()).toBe(begun);
      await work.finishVisit(0, "after the end");
      await t.advance("10m");
      expect(work.inputs).toEqual(["a"]);
      await t.boot();
      await work.finish("a", "A");
      await work.finish("b", "B");
      expect(await t.result(t.client.get("i"))).toBe("B");
    },
  };
});

scenario("ended instances leave nothing in the cache of the process", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<number> => {
    await ctx.waitFor("x");
    return n > 0 ? ctx.continueAsNew(n - 1) : n;
  });
  return {
    register: [main],
    run: async (t) => {
      for (let n = 0; n < 30; n++) {
        const handle = await t.client.start(main, 1, { id: `i${n}` });
        await handle.raise("x");
        await handle.raise("x");
        expect(await t.result(handle)).toBe(0);
      }
      expect(t.process.perdure.runtime.stats().cachedInstances).toBe(0);
    },
  };
});
