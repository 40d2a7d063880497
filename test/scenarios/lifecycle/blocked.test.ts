// Blocked instances: the reported reason, the messages they keep, and how they end (semantics 5, 6, 19a).

import { expect } from "vitest";
import {
  activity,
  isPerdureError,
  orchestration,
  type OrchestrationContext,
} from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const a = activity("a", (x: string) => `a(${x})`);
const b = activity("b", (x: string) => `b(${x})`);

type Code = (ctx: OrchestrationContext, input: unknown) => Promise<unknown>;

scenario("the block names the source line of the call that does not match history", () => {
  const right = orchestration("main", async (ctx) => {
    await ctx.run(a, "1");
    await ctx.sleep("1m");
  });
  const wrong = orchestration("main", async (ctx) => {
    await ctx.run(b, "1");
  });
  return {
    register: [a, b, right],
    blocked: ["i"],
    run: async (t) => {
      const handle = await t.client.start(right, undefined, { id: "i" });
      await t.settle();
      await t.deploy([a, b, wrong]);
      await t.advance("1m");
      const { blocked } = await handle.describe();
      expect(blocked?.source).toContain("blocked.test.ts");
      expect(blocked?.by).toBe(t.process.perdure.runtime.id);
    },
  };
});

scenario("onNondeterminism: fail ends the instance and its activities", () => {
  const right = orchestration("main", async (ctx) => {
    void ctx.run("unregistered");
    await ctx.run(a, "1");
    await ctx.sleep("1m");
  });
  const wrong = orchestration("main", (ctx) => ctx.run(b, "1"), { onNondeterminism: "fail" });
  return {
    register: [a, b, right],
    outdated: ["i"],
    run: async (t) => {
      const handle = await t.client.start(right, undefined, { id: "i" });
      await t.settle();
      await t.deploy([a, b, wrong]);
      await t.advance("1m");
      expect(await t.failure(handle)).toMatchObject({
        kind: "failed",
        message: expect.stringMatching(/^nondeterministic: /),
        failure: { category: "configuration" },
      });
    },
  };
});

scenario("the parent of a child that fails by nondeterminism receives a ChildError", () => {
  const kid = (code: Code) => orchestration("kid", code, { onNondeterminism: "fail" });
  const right = kid(async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")]);
  const wrong = kid(async (ctx) => [await ctx.run(b, "1"), await ctx.sleep("1m")]);
  const main = orchestration("main", (ctx) =>
    ctx.call("kid", undefined, { id: "k" }).catch((error: unknown) => String(error)),
  );
  return {
    register: [a, b, right, main],
    outdated: ["k"],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      await t.deploy([a, b, wrong, main]);
      await t.advance("1m");
      expect(await t.result(handle)).toContain("ChildError: nondeterministic: ");
    },
  };
});

scenario("a blocked instance keeps its messages, and a cancel ends it at once", () => {
  const right = orchestration("main", async (ctx) => [
    await ctx.run(a, "1"),
    await ctx.waitFor("x"),
    await ctx.waitFor("y"),
  ]);
  const wrong = orchestration("main", (ctx) => ctx.run(b, "1"));
  return {
    register: [a, b, right],
    outdated: ["second"], // the store wrote the end, not the code
    run: async (t) => {
      const first = await t.client.start(right, undefined, { id: "first" });
      const second = await t.client.start(right, undefined, { id: "second" });
      await t.settle();
      await t.deploy([a, b, wrong]);
      for (const handle of [first, second]) await handle.raise("x", 1);
      await t.settle();
      await first.raise("y", 2);
      expect(await first.describe()).toMatchObject({ blocked: { code: "NONDETERMINISM" } });
      await second.cancel("give up");
      expect(await t.failure(second)).toMatchObject({ message: "cancelled: give up" });
      await t.deploy([a, b, right]);
      expect(await t.result(first)).toEqual(["a(1)", 1, 2]);
    },
  };
});

/** A promise from outside the orchestration, such as one of a socket, a driver or a library. */
const foreignPromise = new Promise<void>(() => undefined);

scenario("awaiting a promise that is not durable blocks the instance, with a hint", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.run(a, "1");
    await foreignPromise;
    return "never";
  });
  const fixed = orchestration("main", async (ctx) => {
    await ctx.run(a, "1");
    return "fixed";
  });
  return {
    register: [a, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect((await handle.describe()).blocked).toMatchObject({
        code: "FOREIGN_AWAIT",
        message: expect.stringContaining("ctx.run"),
      });
      await t.deploy([a, fixed]);
      expect(await t.result(handle)).toBe("fixed");
    },
  };
});

scenario("using a leaked ctx outside its turn is refused and records nothing", () => {
  let leaked: (() => unknown) | undefined;
  const main = orchestration("main", async (ctx) => {
    leaked = () => ctx.sleep("1s");
    await ctx.sleep("1m");
    return "done";
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(() => leaked?.()).toThrow(expect.objectContaining({ code: "FOREIGN_AWAIT" }));
      await t.advance("1m"); // the runtime dropped the coroutine during the long sleep, so the leaked call has no effect
      expect(await t.result(handle)).toBe("done");
    },
  };
});

const errorOf = (error: unknown): unknown =>
  isPerdureError(error) ? `${error.code}: ${error.message}` : error;

scenario(
  "result with onBlocked: throw rejects with BLOCKED and the reason, before and after the block",
  () => {
    const right = orchestration("main", async (ctx) => {
      await ctx.run(a, "1");
      await ctx.sleep("1m");
    });
    const wrong = orchestration("main", async (ctx) => {
      await ctx.run(b, "1");
    });
    return {
      register: [a, b, right],
      blocked: ["i"],
      run: async (t) => {
        const handle = await t.client.start(right, undefined, { id: "i" });
        await t.settle();
        const early = handle.result({ onBlocked: "throw" }).catch(errorOf);
        await t.deploy([a, b, wrong]);
        await t.advance("1m");
        const blocked =
          /^BLOCKED: Instance "i" did not end: it is blocked by NONDETERMINISM: .*a.*b/s;
        expect(await early).toMatch(blocked);
        expect(await handle.result({ onBlocked: "throw" }).catch(errorOf)).toMatch(blocked);
        const { blocked: block } = await handle.describe();
        const reason = `it is blocked by NONDETERMINISM: ${block?.message.replace(/\.$/, "")}`;
        await expect(handle.result({ onBlocked: "throw" })).rejects.toMatchObject({ reason });
        const late = handle.result({ timeout: "5s" }).catch(errorOf);
        await t.advance("5s");
        expect(await late).toBe(`TIMEOUT: Instance "i" did not end within 5s: ${reason}.`);
        const once = await handle.result({ timeout: 0 }).catch(errorOf);
        expect(once).toBe(`TIMEOUT: Instance "i" did not end within 0ms: ${reason}.`);
        const key = await handle.kv.waitFor("k", { onBlocked: "throw" }).catch(errorOf);
        expect(key).toBe(`BLOCKED: Instance "i" did not set the key "k": ${reason}.`);
      },
    };
  },
);

scenario("result with onBlocked: throw rejects with UNCLAIMED for unclaimed work", () => {
  const lonely = orchestration("lonely", async (ctx) => ctx.run("missing", 1));
  const patient = orchestration("patient", async (ctx) =>
    ctx.race([ctx.run("missing", 1), ctx.waitFor("go")]),
  );
  const missing = activity("missing", (n: number) => n);
  return {
    register: [lonely, patient],
    run: async (t) => {
      const orphan = await t.client.start("orphan", undefined, { id: "o" });
      const why = 'no running worker registers orchestration "orphan"';
      const options = { onBlocked: "throw" } as const;
      const refused = `UNCLAIMED: Instance "o" did not end: ${why}.`;
      expect(await orphan.result(options).catch(errorOf)).toBe(refused);
      const once = await orphan.result({ timeout: 0 }).catch(errorOf);
      expect(once).toBe(`TIMEOUT: Instance "o" did not end within 0ms: ${why}.`);

      const handle = await t.client.start(lonely, undefined, { id: "l" });
      const early = handle.result(options).catch(errorOf);
      await t.settle();
      await t.advance("1s");
      const unclaimed = 'no running worker registers activity "missing"';
      expect(await early).toBe(`UNCLAIMED: Instance "l" did not end: ${unclaimed}.`);

      const other = await t.client.start(patient, undefined, { id: "p" });
      await t.settle();
      const waiting = other.result(options); // the event may still arrive
      await t.advance("5s");
      await other.raise("go");
      await waiting;

      const patientResult = handle.result({ onBlocked: "wait" });
      await t.deploy([lonely, patient, missing]);
      expect(await patientResult).toBe(1);
      await orphan.terminate();
    },
  };
});

scenario("the error of a timeout says what the instance waits for, or that it is paused", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.waitFor("go");
    await ctx.sleep("1h");
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const late = async () => {
        const result = handle.result({ timeout: "5s" }).catch(errorOf);
        await t.advance("5s");
        return result;
      };
      const start = 'TIMEOUT: Instance "i" did not end within 5s: ';
      await t.settle();
      expect(await late()).toBe(`${start}it waits for the event "go".`);
      await handle.pause("lunch");
      expect(await late()).toBe(`${start}it is paused: lunch.`);
      await handle.resume();
      await handle.raise("go");
      await t.settle();
      expect(await late()).toBe(`${start}it waits for a timer.`);
      const wrong = { onBlocked: "fail" as "throw" };
      expect(await handle.result(wrong).catch(errorOf)).toMatch(/^INVALID_ARGUMENT: onBlocked/);
      await handle.terminate();
    },
  };
});
