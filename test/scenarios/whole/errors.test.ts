// How errors propagate from activities and children to orchestrations and callers.

import { expect } from "vitest";
import { activity, ActivityError, isPerdureError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

class PaymentError extends Error {
  override readonly name = "PaymentError";
  readonly amount: number;
  constructor(message: string, amount: number) {
    super(message);
    this.amount = amount;
  }
}

scenario("a failed activity stops the chain, and later activities never run", () => {
  const ran: string[] = [];
  const act = activity("act", (name: string) => {
    ran.push(name);
    if (name === "second") throw new Error("second failed");
    return name;
  });
  const main = orchestration("main", async (ctx) => {
    for (const name of ["first", "second", "third"]) await ctx.run(act, name);
  });
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.failure(handle)).toMatchObject({ message: "second failed" });
      expect(ran).toEqual(["first", "second"]);
    },
  };
});

scenario("a user-defined error keeps its name and its fields", () => {
  const pay = activity("pay", () => {
    throw new PaymentError("declined", 99);
  });
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.run(pay);
    } catch (error) {
      const cause = error instanceof ActivityError ? error.cause : error;
      if (cause instanceof Error && cause.name === "PaymentError" && "amount" in cause) {
        return `refund ${String(cause.amount)}`;
      }
      throw error;
    }
  });
  return {
    register: [pay, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("refund 99");
    },
  };
});

scenario("an activity fails with any thrown value, synchronous or asynchronous", () => {
  const sync = activity("sync", () => {
    throw new Error("thrown at once");
  });
  const odd = activity("odd", () => Promise.reject("only a text"));
  const none = activity("none", () => Promise.reject(undefined));
  const main = orchestration("main", async (ctx) => {
    const settled = await ctx.allSettled([ctx.run(sync), ctx.run(odd), ctx.run(none)]);
    return settled.map((one) => one.status === "rejected" && one.reason instanceof ActivityError);
  });
  return {
    register: [sync, odd, none, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual([true, true, true]);
    },
  };
});

scenario("an exception in the orchestration code fails only its instance", () => {
  const main = orchestration("main", async (ctx, input: { list?: number[] }) => {
    await ctx.sleep("1s");
    return (input.list as number[]).length;
  });
  return {
    register: [main],
    run: async (t) => {
      const good = await t.client.start(main, { list: [1, 2] }, { id: "good" });
      const bad = await t.client.start(main, {}, { id: "bad" });
      await t.advance("1s");
      expect(await t.result(good)).toBe(2);
      expect(await t.failure(bad)).toMatchObject({ kind: "failed", cause: expect.any(TypeError) });
    },
  };
});

scenario("a finally block runs its durable work on success and on failure", () => {
  const log: string[] = [];
  const act = activity("act", (name: string) => {
    log.push(name);
    if (name.endsWith("!")) throw new Error(name);
  });
  const main = orchestration("main", async (ctx, name: string) => {
    try {
      await ctx.run(act, name);
    } finally {
      await ctx.run(act, `close ${name.replace("!", "")}`);
    }
  });
  return {
    register: [act, main],
    run: async (t) => {
      await t.result(await t.client.start(main, "good", { id: "good" }));
      await t.failure(await t.client.start(main, "bad!", { id: "bad" }));
      expect(log).toEqual(["good", "close good", "bad!", "close bad"]);
    },
  };
});

scenario("an unhandled rejection in an orchestration is logged and ends nothing", () => {
  const main = orchestration("main", async (ctx) => {
    void Promise.reject(new Error("not awaited"));
    await ctx.sleep("1s");
    return "fine";
  });
  return {
    register: [main],
    differs: {
      in: "times and logs",
      because: "a replay rejects again, and the rejection is logged again",
    },
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(await t.result(handle)).toBe("fine");
      expect(t.messages.some((line) => line.includes("unhandled promise rejection"))).toBe(true);
    },
  };
});

scenario("invalid arguments throw at the call, record nothing, and the code can continue", () => {
  const main = orchestration("main", async (ctx) => {
    const codes: unknown[] = [];
    const note = (call: () => unknown): void => {
      try {
        call();
        codes.push("accepted");
      } catch (error) {
        codes.push(isPerdureError(error) ? error.code : error);
      }
    };
    note(() => ctx.run(""));
    note(() => ctx.run("x", null, { timeout: "soon" as never }));
    note(() => ctx.run("x", null, { attempts: -1 }));
    note(() => ctx.run("x", null, { retry: 5 as never }));
    note(() => ctx.step("s", () => 1, { attempts: 2, retry: {} } as never));
    note(() => ctx.sleep(-1));
    note(() => ctx.sleep("1 day" as never));
    note(() => ctx.sleep(new Date(NaN)));
    note(() => ctx.waitFor(""));
    note(() => ctx.waitFor("e", { since: "later" as never }));
    note(() => ctx.call("c", null, { id: "a::b" }));
    note(() => ctx.call("c", null, { version: "x" }));
    note(() => ctx.call("c", null, { onParentClose: "kill" as never }));
    note(() => ctx.step("s", undefined as never));
    return codes;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(Array.from({ length: 14 }, () => "INVALID_ARGUMENT"));
      expect(await t.story(handle)).toHaveLength(2);
    },
  };
});

scenario("a value that the codec refuses fails the activity that returned it", () => {
  const weird = activity("weird", () => ({ self: Symbol("x") }));
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.run(weird).catch((reason: unknown) => reason);
    return error instanceof ActivityError && isPerdureError(error.cause)
      ? [error.cause.code, error.cause.path]
      : error;
  });
  return {
    register: [weird, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(["VALUE_NOT_SERIALIZABLE", "$.self"]);
    },
  };
});

scenario("raise refuses event data with a class instance", () => {
  const main = orchestration("main", (ctx) => ctx.waitFor("x"));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const refused = await handle.raise("x", new PaymentError("x", 1).amount).catch(String);
      expect(refused).toBeUndefined();
      expect(await t.result(handle)).toBe(1);
      const second = await t.client.start(main, undefined, { id: "j" });
      class Point {
        readonly x = 1;
      }
      const error = await second.raise("x", { at: new Point() }).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: "VALUE_NOT_SERIALIZABLE", path: "$.at" });
      await t.settle(); // its first turn is committed, in every mode
      await second.terminate();
    },
  };
});
