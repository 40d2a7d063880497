// Transactions of other libraries (Drizzle, Kysely, Prisma): passed to the client, and running on the transaction of ctx.tx.

import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgSchema, text } from "drizzle-orm/pg-core";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { orchestration, type Client } from "../../../src/index.ts";
import { asPool, fromDrizzle, fromKysely, fromPrisma } from "../../../src/postgres/index.ts";
import { refusalOf } from "../../faults/trouble/support.ts";
import { postgresShop } from "./shops.ts";

const TIMEOUT = { timeout: "10s" } as const;
const TRICKY = `it's "quoted" \\ {a,b} NULL, ünïcode 🎉`;
const collects = orchestration("collects", async (ctx, first: string) => [
  first,
  await ctx.waitFor("go"),
]);

interface Database {
  orders: { id: string; note: string | null };
}

async function open() {
  const shop = await postgresShop({ register: [collects] });
  const pool = new pg.Pool({ connectionString: shop.url, max: 2 });
  onTestFinished(() => pool.end());
  const orders = pgSchema(shop.schema).table("orders", { id: text("id").primaryKey() });
  return { ...shop, pool, orders };
}

/** A start and a raise in the transaction, with values that a driver could corrupt. */
async function startAndRaise(client: Client, id: string, tx: object): Promise<void> {
  const attributes = { customer: TRICKY };
  const handle = await client.start(collects, TRICKY, { id, tx, attributes });
  const again = client.start(collects, "again", { id, tx });
  expect(await refusalOf(again)).toMatchObject({ code: "INSTANCE_EXISTS" });
  await handle.raise("go", { note: TRICKY }, { tx });
}

/** Checks the result of `startAndRaise`. */
async function expectDone(client: Client, id: string): Promise<void> {
  const handle = client.get(id);
  expect(await handle.result(TIMEOUT)).toEqual([TRICKY, { note: TRICKY }]);
  expect(await handle.describe()).toMatchObject({ attributes: { customer: TRICKY } });
}

test("a start and a raise work in a Drizzle transaction", async () => {
  const { client, pool, orders, rows } = await open();
  const db = drizzle(pool);
  await db.transaction(async (tx) => {
    await tx.insert(orders).values({ id: "1" });
    await startAndRaise(client, "order-1", fromDrizzle(tx, sql));
  });
  const failing = db.transaction(async (tx) => {
    await tx.insert(orders).values({ id: "2" });
    await client.start(collects, "2", { id: "order-2", tx: fromDrizzle(tx, sql) });
    throw new Error("never mind");
  });
  await expect(failing).rejects.toThrow("never mind");
  await expectDone(client, "order-1");
  expect(await client.get("order-2").exists()).toBe(false);
  expect(await rows()).toEqual(["1"]);
  const outside = client.start(collects, "3", { tx: fromDrizzle(db, sql) });
  expect(await refusalOf(outside)).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a start and a raise work in a Kysely transaction, also with a plugin that changes names", async () => {
  const { client, pool, rows, schema } = await open();
  const plugins = [new CamelCasePlugin()];
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }), plugins });
  await db.transaction().execute(async (trx) => {
    await trx.withSchema(schema).insertInto("orders").values({ id: "1" }).execute();
    await startAndRaise(client, "order-1", fromKysely(trx));
  });
  await expectDone(client, "order-1");
  expect(await rows()).toEqual(["1"]);
  const outside = client.start(collects, "3", { tx: fromKysely(db) });
  expect(await refusalOf(outside)).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a start and a raise work in a Prisma transaction", async () => {
  const { client, begin, rows } = await open();
  const transaction = await begin();
  const user = transaction.tx as pg.Client;
  await transaction.insert("1");
  // Like Prisma: values after the text, only scalar values, plain rows, 64-bit numbers as bigint.
  const prisma = {
    async $queryRawUnsafe(query: string, ...values: unknown[]): Promise<unknown> {
      expect(values.every((value) => value === null || typeof value === "string")).toBe(true);
      const { rows: found, fields } = await user.query<Record<string, unknown>>(query, values);
      const isBig = (name: string): boolean =>
        fields.some((field) => field.name === name && field.dataTypeID === 20);
      return found.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            isBig(name) && typeof value === "string" ? BigInt(value) : value,
          ]),
        ),
      );
    },
    $executeRawUnsafe: async () => 0,
  };
  await startAndRaise(client, "order-1", fromPrisma(prisma));
  await transaction.commit();
  await expectDone(client, "order-1");
  expect(await rows()).toEqual(["1"]);
});

test("Drizzle and Kysely run on the transaction of ctx.tx", async () => {
  const shop = await open();
  const { orders, schema } = shop;
  const saves = orchestration("saves", async (ctx, id: string) => {
    await ctx.tx("drizzle", async (tx: pg.PoolClient) => {
      await drizzle(tx).insert(orders).values({ id });
    });
    return ctx.tx("kysely", async (tx: pg.PoolClient) => {
      const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: asPool(tx) }) });
      const mine = db.withSchema(schema);
      await mine.updateTable("orders").set({ note: "seen" }).where("id", "=", id).execute();
      const found = await mine.selectFrom("orders").select(["id", "note"]).execute();
      return found.map((row) => ({ ...row }));
    });
  });
  const { client } = await postgresShop({ register: [saves] });
  const handle = await client.start(saves, "1");
  expect(await handle.result(TIMEOUT)).toEqual([{ id: "1", note: "seen" }]);
  expect(await shop.rows()).toEqual(["1"]);
});
