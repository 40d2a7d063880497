// Children: orchestrations called by orchestrations, with their ids, results, failures and priorities.

import { expect } from "vitest";
import { activity, ChildError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const upper = activity("upper", (text: string) => text.toUpperCase());
const shout = orchestration("shout", async (ctx, text: string) => `${await ctx.run(upper, text)}!`);

scenario("a parent receives the result of its child, whose id contains the parent's id", () => {
  const main = orchestration("main", (ctx, text: string) => ctx.call(shout, text));
  return {
    register: [upper, shout, main],
    run: async (t) => {
      const handle = await t.client.start(main, "hey", { id: "p" });
      expect(await t.result(handle)).toBe("HEY!");
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ChildScheduled shout",
        "ChildCompleted 2",
        "OrchestrationCompleted",
      ]);
      expect(await t.client.get("p::sub::2").describe()).toMatchObject({
        name: "shout",
        status: "completed",
        parent: { id: "p", sequence: 2 },
      });
    },
  };
});

scenario("a fan-out to children that each call a child", () => {
  const leaf = orchestration("leaf", async (ctx, n: number) => Number(await ctx.run(double, n)));
  const middle = orchestration("middle", (ctx, n: number) => ctx.call(leaf, n + 1));
  const main = orchestration("main", async (ctx) => {
    const values = await ctx.all([1, 2, 3].map((n) => ctx.call(middle, n)));
    return values.reduce((a, b) => a + b, 0);
  });
  const double = activity("double", (n: number) => n * 2);
  return {
    register: [double, leaf, middle, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.result(handle)).toBe(18);
      expect(await t.client.get("p::sub::3::sub::2").describe()).toMatchObject({ output: 6 });
    },
  };
});

scenario("a failed child raises a ChildError with the original error as its cause", () => {
  const child = orchestration("child", async () => {
    throw Object.assign(new RangeError("too far"), { distance: 9 });
  });
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.call(child).catch((reason: unknown) => reason);
    if (!(error instanceof ChildError)) return error;
    const { cause } = error;
    return [error.code, error.child, error.message, cause instanceof RangeError && { ...cause }];
  });
  return {
    register: [child, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.result(handle)).toEqual(["CHILD_FAILED", "child", "too far", { distance: 9 }]);
    },
  };
});

scenario("an uncaught failure propagates level by level with its causes", () => {
  const child = orchestration("child", async (ctx) => {
    await ctx.run(broken);
  });
  const broken = activity("broken", () => {
    throw new Error("at the bottom");
  });
  const main = orchestration("main", (ctx) => ctx.call(child));
  return {
    register: [broken, child, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.failure(handle)).toMatchObject({
        code: "ORCHESTRATION_FAILED",
        message: "at the bottom",
        cause: { code: "CHILD_FAILED", cause: { code: "ACTIVITY_FAILED" } },
      });
    },
  };
});

scenario("a child can have a chosen id, and a second child with the same id is refused", () => {
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.call(shout, "a", { id: "my-kid" });
    const again = await ctx
      .call(shout, "b", { id: "my-kid" })
      .catch((error: unknown) => (error instanceof ChildError ? error.failure.code : error));
    return [first, again];
  });
  return {
    register: [upper, shout, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.result(handle)).toEqual(["A!", "INSTANCE_EXISTS"]);
    },
  };
});

scenario("a call with the id of a running, unrelated instance fails at once", () => {
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.call(shout, "x", { id: "unrelated" });
    } catch (error) {
      return error instanceof ChildError ? error.message : error;
    }
  });
  const sleeper = orchestration("sleeper", (ctx) => ctx.sleep("1d"));
  return {
    register: [upper, shout, sleeper, main],
    run: async (t) => {
      const unrelated = await t.client.start(sleeper, undefined, { id: "unrelated" });
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.result(handle)).toContain("unrelated");
      expect(await unrelated.describe()).toMatchObject({ name: "sleeper", status: "running" });
    },
  };
});

scenario("an instance cannot be its own child", () => {
  const main = orchestration("main", (ctx) =>
    ctx
      .call("main", undefined, { id: ctx.info.instanceId })
      .catch((error: unknown) => (error instanceof ChildError ? error.failure.code : error)),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "ouroboros" });
      expect(await t.result(handle)).toBe("INSTANCE_EXISTS");
    },
  };
});

scenario("of two calls with the same id in one turn the second is refused", () => {
  const main = orchestration("main", async (ctx) => {
    const both = await ctx.allSettled([
      ctx.call(shout, "a", { id: "kid" }),
      ctx.call(shout, "b", { id: "kid" }),
    ]);
    return both.map((one) => (one.status === "fulfilled" ? one.value : one.status));
  });
  return {
    register: [upper, shout, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.result(handle)).toEqual(["A!", "rejected"]);
    },
  };
});

scenario("a child sees its parent, its id and its input", () => {
  const child = orchestration("child", async (ctx, input: { a: number }) => ({
    input,
    id: ctx.info.instanceId,
    parent: ctx.info.parent,
    name: ctx.info.name,
  }));
  const main = orchestration("main", async (ctx) => [
    ctx.info.parent,
    await ctx.call(child, { a: 1 }),
    await ctx.call("child", { a: 2 }, { id: "by-name" }),
  ]);
  return {
    register: [child, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      expect(await t.result(handle)).toEqual([
        undefined,
        { input: { a: 1 }, id: "p::sub::2", parent: { id: "p", sequence: 2 }, name: "child" },
        { input: { a: 2 }, id: "by-name", parent: { id: "p", sequence: 4 }, name: "child" },
      ]);
    },
  };
});

scenario(
  "children and detached instances have the priority of the call, by default the caller's",
  () => {
    const main = orchestration("main", async (ctx, urgent: number) => {
      void ctx.startDetached(shout, "d", { id: "detached", priority: 5 });
      void ctx.startDetached(shout, "e", { id: "detached-2" });
      const first = await ctx.call(shout, "a", { id: "urgent", priority: urgent });
      const second = await ctx.call(shout, "b", { id: "usual" });
      await ctx.sleep("1m");
      return first + second;
    });
    // Different priorities: replay does not compare them.
    const later = orchestration("main", async (ctx) => {
      void ctx.startDetached(shout, "d", { id: "detached" });
      void ctx.startDetached(shout, "e", { id: "detached-2", priority: 4 });
      const first = await ctx.call(shout, "a", { id: "urgent" });
      const second = await ctx.call(shout, "b", { id: "usual", priority: 2 });
      await ctx.sleep("1m");
      return first + second;
    });
    return {
      register: [main, shout, upper],
      run: async (t) => {
        const handle = await t.client.start(main, 1, { id: "i", priority: 2 });
        await t.settle();
        const priorities = ["urgent", "usual", "detached", "detached-2"].map(
          async (id) => (await t.client.get(id).describe()).priority,
        );
        expect(await Promise.all(priorities)).toEqual([1, 2, 5, 2]);
        await t.deploy([later, shout, upper]);
        await t.advance("1m");
        expect(await t.result(handle)).toBe("A!B!");
      },
    };
  },
);

scenario("an invalid priority is refused at the call", () => {
  const main = orchestration("main", async (ctx, priority: number) => {
    const refusals: string[] = [];
    for (const call of [
      () => void ctx.call(shout, "a", { priority }),
      () => void ctx.startDetached(shout, "a", { id: "d", priority }),
    ]) {
      try {
        call();
      } catch (error) {
        refusals.push(String(error));
      }
    }
    return refusals;
  });
  return {
    register: [main],
    run: async (t) => {
      for (const priority of [0, 6, 1.5]) {
        const handle = await t.client.start(main, priority);
        const messages = await t.result(handle);
        expect(messages).toHaveLength(2);
        for (const each of messages) expect(each).toContain(`from 1 to 5; got ${priority}`);
      }
    },
  };
});
