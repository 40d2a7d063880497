// The test kit and requests: asks that move virtual time, and scripted asks.

import { describe, expect, test } from "vitest";
import { orchestration, request } from "../../../src/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const add = request<{ sku: string }, number>("add");
const close = request<undefined, readonly string[]>("close");
const slow = request<string, string>("slow");

const cart = orchestration("cart", async (ctx, max: number) => {
  const skus: string[] = [];
  void ctx.serve(slow, async (text) => {
    await ctx.sleep("2h");
    return `${text} late`;
  });
  for await (const call of ctx.requests(add, close)) {
    if (call.is(close)) {
      call.answer(skus);
      break;
    }
    if (!call.is(add)) continue;
    if (skus.length === max) call.refuse("cart is full");
    else call.answer(skus.push(call.input.sku));
  }
  return skus.length;
});
const register = [cart];

describe("kit.ask", () => {
  test("waits for the answer, by handle or id, and rejects with a refusal", async () => {
    await using kit = await TestEnvironment.create({ register });
    const handle = await kit.start(cart, 1, { id: "c" });
    const first: number = await kit.ask(handle, add, { sku: "a" });
    expect(first).toBe(1);
    await expect(kit.ask("c", add, { sku: "b" })).rejects.toMatchObject({ kind: "refused" });
    expect(await kit.ask("c", "close")).toEqual(["a"]);
    expect(await handle.result()).toBe(1);
    expect(kit.now).toEqual(new Date("2026-01-01"));
  });

  test("advances time while the instance works on the answer", async () => {
    await using kit = await TestEnvironment.create({ register });
    const handle = await kit.start(cart, 1, { id: "c" });
    expect(await kit.ask(handle, slow, "a", { timeout: "3h" })).toBe("a late");
    expect(kit.now).toEqual(new Date("2026-01-01T02:00:00Z"));
    expect(await handle.ask(slow, "b", { timeout: "3h" })).toBe("b late");
    expect(await kit.client.ask(cart, "c", slow, "c", { timeout: "3h" })).toBe("c late");
    expect(kit.now).toEqual(new Date("2026-01-01T06:00:00Z"));
  });

  test("gives up at its timeout in virtual time, with the reason", async () => {
    await using kit = await TestEnvironment.create({ register });
    const handle = await kit.start(cart, 1, { id: "c" });
    await expect(kit.ask(handle, slow, "a")).rejects.toMatchObject({ code: "TIMEOUT" });
    expect(kit.now).toEqual(new Date("2026-01-01T00:00:30Z"));
    await handle.pause("lunch");
    await expect(kit.ask(handle, add, { sku: "a" })).rejects.toThrow(
      'did not answer request "add" within 30s: it is paused: lunch',
    );
    await expect(kit.ask("none", add, { sku: "a" })).rejects.toMatchObject({
      code: "INSTANCE_NOT_FOUND",
    });
  });

  test("survives a crash, and without autoSkip only advance moves time", async () => {
    await using kit = await TestEnvironment.create({ register, autoSkip: false });
    const handle = await kit.start(cart, 1, { id: "c" });
    const asked = kit.ask(handle, slow, "a", { timeout: "3h" });
    await kit.settle();
    await kit.crash();
    await kit.advance("2h");
    expect(await asked).toBe("a late");
  });
});

describe("kit.askAt", () => {
  test("asks at its moment, and its promise has the answer", async () => {
    await using kit = await TestEnvironment.create({ register });
    const handle = await kit.start(cart, 1, { id: "c" });
    const first: Promise<number> = kit.askAt(handle, add, { sku: "a" }, "1h");
    const second = kit.askAt(handle, add, { sku: "b" }, new Date("2026-01-01T02:00:00Z"));
    const late = kit.askAt("c", slow, "x", "30m", { timeout: "1d" });
    const closed = kit.askAt(handle, close, undefined, "3h");
    expect(await handle.result()).toBe(1);
    expect(kit.now).toEqual(new Date("2026-01-01T03:00:00Z"));
    expect(await first).toBe(1);
    await expect(second).rejects.toThrow("cart is full");
    expect(await late).toBe("x late");
    expect(await closed).toEqual(["a"]);
  });

  test("is what a result that waits for requests needs", async () => {
    await using kit = await TestEnvironment.create({ register });
    const handle = await kit.start(cart, 1, { id: "c" });
    await expect(handle.result()).rejects.toThrow(
      'it waits for requests "slow": nothing scripted will ask it; it waits for requests "add", "close": ' +
        "nothing scripted will ask it. Script it with kit.at(…), kit.raiseAt(…) or kit.askAt(…), send it before you await the result, or pass a timeout to result().",
    );
  });
});
