// A shop's own tables, and the orchestration of an order. Both are in one PostgreSQL database.

import type { PoolClient } from "pg";
import { event, orchestration } from "../../src/index.ts";

export const TABLES = `
  DROP SCHEMA IF EXISTS outbox_example CASCADE;
  CREATE SCHEMA outbox_example;
  CREATE TABLE outbox_example.orders (id text PRIMARY KEY, cents int NOT NULL, status text NOT NULL);
  CREATE TABLE outbox_example.ledger (order_id text NOT NULL, cents int NOT NULL);`;

export const paid = event<{ cents: number }>("paid");

export const fulfil = orchestration("fulfil", async (ctx, orderId: string) => {
  const payment = await ctx.waitFor(paid);
  // The rows and the completion of the step are one transaction: a crash keeps or loses both.
  await ctx.tx("book", async (tx: PoolClient) => {
    await tx.query("INSERT INTO outbox_example.ledger VALUES ($1, $2)", [orderId, payment.cents]);
    await tx.query("UPDATE outbox_example.orders SET status = 'booked' WHERE id = $1", [orderId]);
  });
  return `order ${orderId} is booked`;
});
