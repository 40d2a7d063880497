// Callbacks of orchestrations: `ctx.callback`, and the calls from outside that complete them.

import * as v from "valibot";
import { expect } from "vitest";
import { callback } from "../../../src/core/define/callback.ts";
import { activity, orchestration } from "../../../src/index.ts";
import { codeOf } from "../support/code-of.ts";
import { scenario } from "../support/scenario.ts";
import type { World } from "../support/world.ts";

/** An activity that keeps the tokens that it was given, and an orchestration that waits for one callback. */
function waiting(options: Parameters<typeof waitOptions>[0] = {}) {
  const tokens: string[] = [];
  const publish = activity("publish", (token: string) => void tokens.push(token));
  const order = orchestration("order", async (ctx) => {
    const paid = ctx.callback("paid", waitOptions(options));
    await ctx.run(publish, paid.token);
    return (await paid) ?? "timed out";
  });
  const token = (index = 0): string => tokens[index] ?? "";
  return { register: [publish, order], order, tokens, token };
}

const PAYMENT = v.object({ cents: v.number() });

function waitOptions({ timeout, checked }: { timeout?: string; checked?: boolean } = {}) {
  return {
    ...(timeout === undefined ? {} : { timeout: timeout as "1h" }),
    ...(checked === true ? { schema: PAYMENT } : {}),
  };
}

async function startOrder(t: World, order: ReturnType<typeof waiting>["order"], id = "a") {
  const handle = await t.client.start(order, undefined, { id });
  await t.settle();
  return handle;
}

// complete.2
scenario("a call with the token completes the callback; a repeated call changes nothing", () => {
  const { register, order, token } = waiting();
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      expect(t.client.readToken(token())).toEqual({
        kind: "callback",
        name: "paid",
        instanceId: "a",
        orchestration: "order",
      });
      expect(await t.client.complete(token(), { cents: 5 })).toBe("completed");
      expect(await t.client.complete(token(), { cents: 6 })).toBe("completed");
      expect(await t.result(handle)).toEqual({ cents: 5 });
      expect(await t.client.complete(token(), { cents: 7 })).toBe("completed");
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "CallbackCreated paid",
        "ActivityScheduled publish",
        "ActivityCompleted 3",
        "EventReceived perdure.callback:2",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("the task has the address and, after the value, the headers of the call", () => {
  const seen: unknown[] = [];
  const publish = activity("publish", (address: unknown) => void seen.push(address));
  const order = orchestration("order", async (ctx) => {
    const paid = ctx.callback<string>("paid");
    await ctx.run(publish, { url: paid.url, token: paid.token, headers: paid.headers ?? null });
    const value = await paid;
    return { value, headers: paid.headers };
  });
  return {
    register: [publish, order],
    run: async (t) => {
      const handle = await t.client.start(order, undefined, { id: "a" });
      await t.settle();
      const [{ url, token }] = seen as [{ url: string; token: string }];
      expect(url).toBe(`https://example.test/callbacks/${token}`);
      expect(seen).toEqual([{ url, token, headers: null }]);
      await t.client.complete(token, "yes", { headers: { "x-request-id": "7" } });
      await t.deploy(); // the replay sees the same headers
      expect(await t.result(t.client.get("a"))).toEqual({
        value: "yes",
        headers: { "x-request-id": "7" },
      });
      expect(await t.result(handle)).toBeDefined();
    },
  };
});

scenario("an early value is kept until the code awaits the callback", () => {
  const tokens: string[] = [];
  const publish = activity("publish", (token: string) => void tokens.push(token));
  const order = orchestration("order", async (ctx) => {
    const paid = ctx.callback("paid");
    await ctx.run(publish, paid.token);
    await ctx.sleep("1h");
    return paid;
  });
  return {
    register: [publish, order],
    run: async (t) => {
      const handle = await t.client.start(order, undefined, { id: "a" });
      await t.settle();
      await t.client.complete(tokens[0] ?? "", "early");
      await t.advance("1h");
      expect(await t.result(handle)).toBe("early");
    },
  };
});

scenario("a callback that times out resolves to null and is closed", () => {
  const { register, order, token } = waiting({ timeout: "1h" });
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      const { waitingFor } = await handle.describe();
      const expiresAt = new Date(t.now() + 3_600_000);
      expect(waitingFor).toMatchObject([
        { kind: "callback", sequence: 2, name: "paid", expiresAt },
        { kind: "timer" },
      ]);
      expect(t.client.readToken(token()).expiresAt).toEqual(expiresAt);
      await t.advance("1h");
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      expect(await t.result(handle)).toBe("timed out");
    },
  };
});

scenario("a callback whose time is over is closed, although no worker has fired its timer", () => {
  const { register, order, token } = waiting({ timeout: "1h" });
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      await handle.pause();
      await t.advance("1h");
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      await handle.resume();
      expect(await t.result(handle)).toBe("timed out");
    },
  };
});

scenario("a callback that loses a race is closed", () => {
  const tokens: string[] = [];
  const publish = activity("publish", (token: string) => void tokens.push(token));
  const order = orchestration("order", async (ctx) => {
    const paid = ctx.callback<string>("paid");
    await ctx.run(publish, paid.token);
    const first = await ctx.race({ paid, stop: ctx.waitFor("stop") });
    await ctx.waitFor("end");
    return first.key;
  });
  return {
    register: [publish, order],
    run: async (t) => {
      for (const id of ["a", "b"]) await t.client.start(order, undefined, { id });
      await t.settle();
      const [first = "", second = ""] = tokens;
      await t.client.raise("a", "stop");
      await t.client.complete(second, "won");
      await t.settle();
      expect(await codeOf(t.client.complete(first, 1))).toBe("CALLBACK_CLOSED");
      for (const id of ["a", "b"]) await t.client.raise(id, "end");
      expect(await t.result(t.client.get("a"))).toBe("stop");
      expect(await t.result(t.client.get("b"))).toBe("paid");
      expect(await t.client.complete(second, "again")).toBe("completed");
    },
  };
});

// complete.3
scenario("a value that the schema refuses raises an error where the schema is known", () => {
  const { register, order, token } = waiting({ checked: true });
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      const refused = t.client.complete(token(), { cents: "five" });
      await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT", path: "$.cents" });
      expect(await t.client.complete(token(), { cents: 5 })).toBe("completed");
      expect(await t.client.complete(token(), { cents: "repeated" })).toBe("completed"); // complete.2
      expect(await t.result(handle)).toEqual({ cents: 5 });
      expect(await t.client.complete(token(), { cents: "at the end" })).toBe("completed");
    },
  };
});

scenario(
  "where the schema is not known the receiver refuses, and a corrected call is accepted",
  () => {
    const { register, order, token } = waiting({ checked: true });
    return {
      register,
      run: async (t) => {
        const handle = await startOrder(t, order);
        const elsewhere = await t.boot([]); // a process without the code
        expect(await elsewhere.client.complete(token(), { cents: "five" })).toBe("accepted");
        await t.settle();
        const { items } = await handle.unread();
        expect(items).toMatchObject([
          { name: "paid", callback: true, data: { cents: "five" }, refused: { path: "$.cents" } },
        ]);
        expect((await handle.describe()).waitingFor).toMatchObject([{ kind: "callback" }]);
        expect(await elsewhere.client.complete(token(), { cents: 5 })).toBe("accepted");
        expect(await t.result(handle)).toEqual({ cents: 5 });
      },
    };
  },
);

scenario("a definition has the schema, and the code receives the schema's output", () => {
  const tokens: string[] = [];
  const publish = activity("publish", (token: string) => void tokens.push(token));
  const schema = v.pipe(v.string(), v.transform(Number));
  const paid = callback("paid", { schema });
  const order = orchestration("order", async (ctx) => {
    const task = ctx.callback(paid);
    await ctx.run(publish, task.token);
    const cents: number = await task;
    return cents + 1;
  });
  return {
    register: [publish, order],
    run: async (t) => {
      const handle = await t.client.start(order, undefined, { id: "a" });
      await t.settle();
      expect(await t.client.complete(tokens[0] ?? "", "41")).toBe("completed");
      expect(await t.result(handle)).toBe(42);
    },
  };
});

scenario("a restarted instance does not accept the tokens of its earlier execution", () => {
  const { register, order, token } = waiting();
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      await handle.terminate();
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      await handle.restart();
      await t.settle();
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      await t.client.complete(token(1), "second");
      expect(await t.result(handle)).toBe("second");
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
    },
  };
});

scenario(
  "a deleted and started instance does not accept old tokens, not even completed ones",
  () => {
    const { register, order, token } = waiting();
    return {
      register,
      run: async (t) => {
        const handle = await startOrder(t, order);
        await t.client.complete(token(), "first");
        expect(await t.result(handle)).toBe("first");
        await t.client.delete("a");
        expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
        await startOrder(t, order);
        expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
        await t.client.complete(token(1), "second");
        expect(await t.result(t.client.get("a"))).toBe("second");
        expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      },
    };
  },
);

scenario("continueAsNew closes the callbacks of the execution and drops refused values", () => {
  const tokens: string[] = [];
  const publish = activity("publish", (token: string) => void tokens.push(token));
  const order = orchestration("order", async (ctx, round: number): Promise<unknown> => {
    const paid = ctx.callback("paid", { schema: PAYMENT });
    await ctx.run(publish, paid.token);
    if (round === 2) return paid;
    await ctx.waitFor("next");
    return ctx.continueAsNew(round + 1);
  });
  return {
    register: [publish, order],
    run: async (t) => {
      const handle = await t.client.start(order, 1, { id: "a" });
      await t.settle();
      const elsewhere = await t.boot([]);
      const [first = ""] = tokens;
      await elsewhere.client.complete(first, "refused");
      await t.settle();
      await handle.raise("next");
      await t.settle();
      expect(await codeOf(elsewhere.client.complete(first, { cents: 1 }))).toBe("CALLBACK_CLOSED");
      expect((await handle.unread()).items).toEqual([]);
      await elsewhere.client.complete(tokens[1] ?? "", { cents: 2 });
      expect(await t.result(handle)).toEqual({ cents: 2 });
    },
  };
});

scenario("a replay with another secret and another base address sees the recorded address", () => {
  const { register, order, token } = waiting();
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      const old = token();
      t.callbacks = {
        secrets: [
          "the next secret, which is also 32 bytes long",
          "a secret of scenarios, 32 bytes or more",
        ],
        baseUrl: "https://other.test",
      };
      await t.deploy();
      await t.client.complete(old, "rotated");
      expect(await t.result(t.client.get("a"))).toBe("rotated");
      t.callbacks = {
        secrets: ["a third secret, which never signed anything"],
        baseUrl: "https://other.test",
      };
      await t.deploy();
      expect(await codeOf(t.client.complete(old, 1))).toBe("TOKEN_INVALID");
      expect(await t.result(t.client.get("a"))).toBe("rotated");
      expect(await handle.exists()).toBe(true);
    },
  };
});

scenario("a worker without the settings blocks the instance; one with them continues it", () => {
  const { register, order, token } = waiting();
  return {
    register,
    run: async (t) => {
      const { callbacks } = t;
      t.callbacks = undefined;
      await t.deploy();
      await startOrder(t, order);
      const { blocked } = await t.client.get("a").describe();
      expect(blocked).toMatchObject({ code: "NOT_CONFIGURED" });
      expect(blocked?.message).toContain("callbacks: { secrets, baseUrl }");
      expect(await codeOf(t.client.complete("v1.x.y", 1))).toBe("NOT_CONFIGURED");
      t.callbacks = callbacks;
      await t.deploy();
      await t.client.complete(token(), "now");
      expect(await t.result(t.client.get("a"))).toBe("now");
    },
  };
});

scenario("a fork has addresses of its own; those of the source complete the source", () => {
  const tokens = new Map<string, string>();
  const publish = activity("publish", (token: string, { info }) => {
    tokens.set(info.instanceId, token);
  });
  const order = orchestration("order", async (ctx) => {
    const paid = ctx.callback<string>("paid");
    await ctx.waitFor("go");
    await ctx.run(publish, paid.token);
    return paid;
  });
  return {
    register: [publish, order],
    run: async (t) => {
      const source = await t.client.start(order, undefined, { id: "a" });
      await t.settle();
      const fork = await t.client.fork("a", { beforeSequence: 4, id: "b" });
      for (const handle of [source, fork]) await handle.raise("go");
      await t.settle();
      const [ofSource = "", ofFork = ""] = [tokens.get("a"), tokens.get("b")];
      expect(t.client.readToken(ofFork).instanceId).toBe("b");
      await t.client.complete(ofFork, "fork");
      await t.client.complete(ofSource, "source");
      expect(await t.result(fork)).toBe("fork");
      expect(await t.result(source)).toBe("source");
    },
  };
});

scenario("a token of a call that was cancelled is closed, and a forged one is not ours", () => {
  const { register, order, token } = waiting();
  return {
    register,
    run: async (t) => {
      const handle = await startOrder(t, order);
      const forged = token().replace(/.$/, (last) => (last === "A" ? "B" : "A"));
      for (const bad of ["", "x", forged, `${token()} `, 7 as unknown as string]) {
        expect(await codeOf(t.client.complete(bad, 1))).toBe("TOKEN_INVALID");
      }
      await handle.cancel();
      await t.settle();
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      await t.failure(handle);
    },
  };
});

scenario("callbacks refuse wrong arguments before anything is written", () => {
  const errors: string[] = [];
  const { register, order, token } = waiting();
  const wrong = orchestration("wrong", async (ctx) => {
    const attempts = [
      () => ctx.callback(""),
      () => ctx.callback("perdure.x"),
      () => ctx.callback("x", { timeout: "soon" as "1h" }),
      () => ctx.callback("x", { schema: {} as never }),
      () => ctx.callback("x", { other: 1 } as object),
      () => ctx.callback(callback("x", { schema: PAYMENT }), { schema: PAYMENT }),
    ];
    for (const attempt of attempts) {
      try {
        void attempt();
        errors.push("none");
      } catch (error) {
        errors.push((error as { code: string }).code);
      }
    }
    await ctx.sleep(0);
  });
  return {
    register: [...register, wrong],
    run: async (t) => {
      errors.length = 0;
      const handle = await t.client.start(wrong, undefined, { id: "w" });
      await t.result(handle);
      expect(new Set(errors)).toEqual(new Set(["INVALID_ARGUMENT"]));
      await startOrder(t, order);
      const { client } = t;
      expect(await codeOf(client.complete(token(), () => 1))).toBe("VALUE_NOT_SERIALIZABLE");
      expect(await codeOf(client.complete(token(), "x".repeat(3_000_000)))).toBe("LIMIT_EXCEEDED");
      const big = { headers: { x: "y".repeat(20_000) } };
      expect(await codeOf(client.complete(token(), 1, big))).toBe("LIMIT_EXCEEDED");
      const upper = { headers: { "X-A": "1" } };
      expect(await codeOf(client.complete(token(), 1, upper))).toBe("INVALID_ARGUMENT");
      expect(await codeOf(client.fail(token(), new Error("no")))).toBe("INVALID_ARGUMENT");
      expect(await codeOf(client.heartbeat(token()))).toBe("INVALID_ARGUMENT");
      await client.complete(token(), 1);
      expect(await t.result(client.get("a"))).toBe(1);
      const reserved = client.raise("a", "perdure.callback:2", 1);
      expect(await codeOf(reserved)).toBe("INVALID_ARGUMENT");
    },
  };
});
