// A store moves with its requests: answers stay readable under their ids, and open requests are answered later.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { moveStore, orchestration, Perdure, request } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const add = request<string, number>("add");
const relay = request<string, number>("relay");

const cart = orchestration("cart", async (ctx) => {
  const skus: string[] = [];
  for await (const call of ctx.requests(add)) {
    if (call.input === "none") call.refuse("not that");
    else call.answer(skus.push(call.input));
  }
});
const shop = orchestration("shop", async (ctx) => {
  for await (const call of ctx.requests(relay)) call.answer(await ctx.ask("cart", add, call.input));
});

test("answers and open requests move from one SQLite file to another", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-requests-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = [join(folder, "a.db"), join(folder, "b.db")] as const;
  const options = { register: [cart, shop], runtime: { log: () => undefined } };

  const before = await Perdure.open(`sqlite:${files[0]}`, options);
  const old = await before.client.start(cart, undefined, { id: "cart" });
  const oldShop = await before.client.start(shop, undefined, { id: "shop" });
  expect(await old.ask(add, "a", { requestId: "answered" })).toBe(1);
  await expect(old.ask(add, "none", { requestId: "refused" })).rejects.toThrow("not that");
  await old.pause();
  const soon = { timeout: 50 } as const;
  for (const asked of [
    old.ask(add, "b", { requestId: "open", ...soon }),
    oldShop.ask(relay, "c", { requestId: "relayed", ...soon }),
  ]) {
    await expect(asked).rejects.toMatchObject({ code: "TIMEOUT" });
  }
  await before.close();

  const [from, to] = await Promise.all(files.map((file) => SqliteProvider.open(file)));
  if (from === undefined || to === undefined) throw new Error("a store did not open");
  await moveStore(from, to);
  await from.close();
  await to.close();

  const after = await Perdure.open(`sqlite:${files[1]}`, options);
  onTestFinished(() => after.close({ graceMs: 0 }));
  const moved = after.client.get("cart");
  expect(await moved.ask(add, "a", { requestId: "answered", timeout: 0 })).toBe(1);
  await expect(moved.ask(add, "none", { requestId: "refused", timeout: 0 })).rejects.toThrow(
    "not that",
  );
  await expect(moved.ask(add, "x", { requestId: "answered" })).rejects.toMatchObject({
    code: "KEY_REUSED",
  });
  await moved.resume();
  const later = await Promise.all([
    moved.ask(add, "b", { requestId: "open" }),
    after.client.get("shop").ask(relay, "c", { requestId: "relayed" }),
  ]);
  expect(later.toSorted()).toEqual([2, 3]);
  expect(await moved.ask(add, "d")).toBe(4);
});
