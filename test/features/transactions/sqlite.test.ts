// Rules for users' transactions that apply only to SQLite. The other tests are in scenarios.test.ts.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { refusalOf, temporaryFolder } from "../../faults/trouble/support.ts";
import { sqliteShop, type Shop } from "./shops.ts";

test("a handle on another file or in memory is refused, and the error names the file", async () => {
  const { client } = await sqliteShop();
  const start = (tx: object) => refusalOf(client.start("x", undefined, { id: "a", tx }));
  using other = new DatabaseSync(":memory:");
  other.exec("BEGIN");
  expect(await start(other)).toMatchObject({ code: "INVALID_ARGUMENT" });
  using elsewhere = new DatabaseSync(join(temporaryFolder(), "other.db"));
  elsewhere.exec("BEGIN");
  expect((await start(elsewhere)).message).toContain("other.db");
  expect(await client.count()).toBe(0);
});

test("a function that returns a promise fails at once and writes no row", async () => {
  const opened: Shop[] = [];
  const bad = orchestration("bad", async (ctx) => {
    await ctx.tx("insert", async (tx) => opened[0]?.insert(tx, "x"));
  });
  const shop = await sqliteShop({ register: [bad] });
  opened.push(shop);
  const handle = await shop.client.start(bad);
  await expect(handle.result({ timeout: "10s" })).rejects.toMatchObject({
    cause: { message: expect.stringContaining("synchronous on SQLite") as string },
  });
  expect(await shop.rows()).toEqual([]);
});
