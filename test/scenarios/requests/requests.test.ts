// Requests: clients ask instances, which answer in loops and with handlers.

import { expect } from "vitest";
import { activity, orchestration, request, value } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const add = request<{ sku: string }, number>("add");
const close = request<undefined, readonly string[]>("close");
const total = value<number>("total");

const cart = orchestration("cart", async (ctx, max: number) => {
  const skus: string[] = [];
  for await (const call of ctx.requests(add, close)) {
    if (call.is(close)) {
      call.answer(skus);
      break;
    }
    if (skus.length === max) {
      call.refuse("cart is full");
      continue;
    }
    if (call.is(add)) skus.push(call.input.sku);
    ctx.set(total, skus.length);
    call.answer(skus.length as never);
  }
  return skus.length;
});

scenario("a loop answers one request after the other, in order of arrival", {
  register: [cart],
  run: async (t) => {
    const handle = await t.client.start(cart, 2, { id: "cart" });
    expect(await handle.read(total)).toBeUndefined();
    const answers = await t.during(
      Promise.allSettled(["a", "b", "c"].map((sku) => handle.ask(add, { sku }))),
    );
    expect(answers).toMatchObject([
      { status: "fulfilled", value: 1 },
      { status: "fulfilled", value: 2 },
      { status: "rejected", reason: { code: "REQUEST_REFUSED", kind: "refused" } },
    ]);
    expect(answers[2]).toMatchObject({ reason: { message: "cart is full" } });
    expect(await handle.read(total)).toBe(2);
    expect((await handle.describe()).waitingFor).toMatchObject([
      { kind: "requests", names: ["add", "close"] },
    ]);
    expect(await t.during(handle.ask(close))).toEqual(["a", "b"]);
    expect(await t.result(handle)).toBe(2);
    expect(await handle.read(total)).toBe(2);
    await expect(handle.ask(add, { sku: "d" })).rejects.toMatchObject({
      code: "INSTANCE_FINISHED",
    });
  },
});

scenario("asking again with the same id gives the same answer, and the effect happens once", {
  register: [cart],
  run: async (t) => {
    const handle = await t.client.start(cart, 9, { id: "cart" });
    const ask = (sku: string) => t.during(handle.ask(add, { sku }, { requestId: "r1" }));
    expect(await ask("a")).toBe(1);
    expect(await ask("a")).toBe(1);
    await expect(ask("b")).rejects.toMatchObject({ code: "KEY_REUSED" });
    expect(await t.during(handle.ask(add, { sku: "b" }))).toBe(2);
    await t.deploy();
    expect(await t.during(t.client.get("cart").ask(add, { sku: "a" }, { requestId: "r1" }))).toBe(
      1,
    );
  },
});

const slow = activity("slow", async (text: string) => `slow ${text}`);
const say = request<string, string>("say");

scenario("handlers run beside the main code and answer with what they return", {
  register: [
    slow,
    orchestration("server", async (ctx) => {
      let handled = 0;
      void ctx.serve(
        say,
        async (text) => {
          const answer = await ctx.run(slow, text);
          handled++;
          return answer;
        },
        {
          validate: (text) => {
            if (text === "") throw new RangeError("say something");
          },
        },
      );
      await ctx.waitFor("stop");
      return handled;
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", undefined, { id: "server" });
    const texts = ["a", "b", "c"];
    const answers = await t.during(Promise.all(texts.map((text) => handle.ask(say, text))));
    expect(answers).toEqual(["slow a", "slow b", "slow c"]);
    const events = (await handle.history()).length;
    await expect(t.during(handle.ask(say, ""))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      kind: "refused",
      message: "say something",
      cause: { name: "RangeError" },
    });
    expect((await handle.history()).length).toBe(events);
    await handle.raise("stop");
    expect(await t.result(handle)).toBe(3);
  },
});

scenario("a handler that throws refuses its request, and the instance goes on", {
  register: [
    orchestration("server", async (ctx) => {
      void ctx.serve(say, async (text) => {
        if (text === "bad") throw new TypeError("not that");
        return text;
      });
      await ctx.waitFor("stop");
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", undefined, { id: "server" });
    await expect(t.during(handle.ask(say, "bad"))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      kind: "failed",
      cause: { name: "TypeError", message: "not that" },
    });
    expect(await t.during(handle.ask(say, "good"))).toBe("good");
  },
});

scenario("serial handlers run one at a time, in order of arrival", (t) => {
  const order: string[] = [];
  const work = activity("work", async (text: string) => void order.push(text));
  return {
    register: [
      work,
      orchestration("server", async (ctx) => {
        let busy = 0;
        const handler = async (text: string): Promise<string> => {
          if (++busy > 1) throw new Error("two at once");
          await ctx.run(work, text);
          busy--;
          return text;
        };
        await ctx.serve(say, handler, { serial: true });
      }),
    ],
    run: async () => {
      const handle = await t.client.start("server", undefined, { id: "server" });
      const texts = Array.from({ length: 40 }, (_, i) => `n${i}`);
      const asked = texts.map((text) => handle.ask(say, text));
      expect(await t.during(Promise.all(asked))).toEqual(texts);
      expect(order).toEqual(texts);
    },
  };
});

scenario("unanswered requests move along with continueAsNew", {
  register: [
    orchestration("server", async (ctx, execution: number): Promise<void> => {
      if (execution === 2) {
        for await (const call of ctx.requests(say)) call.answer(`${call.input} in ${execution}`);
      }
      void ctx.serve(say, async () => {
        await ctx.waitFor("never");
        return "";
      });
      await ctx.waitFor("next");
      return ctx.continueAsNew(2);
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", 1, { id: "server" });
    const asked = Promise.all([handle.ask(say, "a"), handle.ask(say, "b")]);
    await t.settle();
    expect((await handle.unread()).items).toMatchObject([{ data: "a" }, { data: "b" }]);
    await handle.raise("next");
    expect(await t.during(asked)).toEqual(["a in 2", "b in 2"]);
  },
});

scenario("an execution that ends without an answer gives INSTANCE_FINISHED", {
  register: [
    orchestration("server", async (ctx) => {
      for await (const call of ctx.requests(say)) if (call.input === "end") break;
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", undefined, { id: "server" });
    await expect(t.during(handle.ask(say, "end"))).rejects.toMatchObject({
      code: "INSTANCE_FINISHED",
    });
  },
});

scenario("a second answer is an error at the call, and a name has one service", {
  register: [
    orchestration("server", async (ctx) => {
      const errors: unknown[] = [];
      const attempt = (fn: () => unknown): void => {
        try {
          fn();
        } catch (error) {
          errors.push((error as { code: string }).code);
        }
      };
      for await (const call of ctx.requests(say)) {
        attempt(() => ctx.serve(say, async () => ""));
        attempt(() => call.answer(Symbol("no") as never));
        call.answer("yes");
        attempt(() => call.answer("no"));
        attempt(() => call.refuse("no"));
        break;
      }
      return errors;
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", undefined, { id: "server" });
    expect(await t.during(handle.ask(say, "x"))).toBe("yes");
    expect(await t.result(handle)).toEqual([
      "INVALID_ARGUMENT",
      "VALUE_NOT_SERIALIZABLE",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
    ]);
  },
});

scenario("an ask starts the instance that it asks, in the same commit", {
  register: [cart],
  run: async (t) => {
    const ask = (sku: string) =>
      t.during(t.client.ask(cart, "cart-7", add, { sku }, { start: { input: 1 } }));
    expect(await ask("a")).toBe(1);
    await expect(ask("b")).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
    t.started.add("cart-7");
    await expect(t.client.ask(cart, "cart-8", add, { sku: "a" })).rejects.toMatchObject({
      code: "INSTANCE_NOT_FOUND",
    });
  },
});

scenario("a request waits while the instance is paused, and the timeout says so", {
  register: [cart],
  run: async (t) => {
    const handle = await t.client.start(cart, 9, { id: "cart" });
    await t.settle();
    await handle.pause("stocktaking");
    const asked = handle.ask(add, { sku: "a" }, { timeout: "5s", requestId: "r" });
    await t.settle();
    expect((await handle.unread()).items).toEqual([
      { name: "add", data: { sku: "a" }, requestId: "r" },
    ]);
    const outcome = expect(asked).rejects.toMatchObject({
      code: "TIMEOUT",
      message: 'Instance "cart" did not answer request "add" within 5s: it is paused: stocktaking.',
    });
    await t.advance("6s");
    await outcome;
    await handle.resume();
    await t.settle();
    expect(await t.during(handle.ask(add, { sku: "a" }, { requestId: "r" }))).toBe(1);
  },
});
