// node examples/outbox/main.ts postgres://…: writes an order's row and its orchestration together.

import pg from "pg";
import { Perdure } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { fulfil, paid, TABLES } from "./shop.ts";

const url = process.argv[2];
if (url === undefined) throw new Error("Usage: node examples/outbox/main.ts postgres://…");
const pool = new pg.Pool({ connectionString: url });
await pool.query(TABLES);
const provider = await PostgresProvider.open(url, { schema: "outbox_example_perdure" });
const perdure = await Perdure.open(provider, { register: [fulfil] });
const { client } = perdure;

console.log("an order that is placed");
await placeOrder("1001", 2500);
console.log(`  its instance exists: ${await client.get("order-1001").exists()}`);

console.log("an order that is turned down half-way");
await placeOrder("1002", -1).catch((error: Error) => console.log(`  ${error.message}`));
console.log(`  its instance exists: ${await client.get("order-1002").exists()}`);

console.log("a payment that comes in");
await inTransaction(async (tx) => {
  await tx.query("UPDATE outbox_example.orders SET status = 'paid' WHERE id = '1001'");
  await client.get("order-1001").raise(paid, { cents: 2500 }, { tx });
});
console.log(`  ${String(await client.get("order-1001").result())}`);
const { rows } = await pool.query<{ order_id: string; cents: number }>(
  "SELECT * FROM outbox_example.ledger",
);
for (const { order_id: id, cents } of rows) console.log(`  in the ledger: ${id}, ${cents} cents`);

await client.delete("order-1001");
await perdure.close();
await provider.close();
await pool.end();

/** Writes the row and starts the instance: both or neither. */
async function placeOrder(id: string, cents: number): Promise<void> {
  await inTransaction(async (tx) => {
    await tx.query("INSERT INTO outbox_example.orders VALUES ($1, $2, 'placed')", [id, cents]);
    await client.start(fulfil, id, { id: `order-${id}`, tx });
    if (cents < 0) throw new Error("the price must not be negative");
  });
}

async function inTransaction(work: (tx: pg.PoolClient) => Promise<void>): Promise<void> {
  const tx = await pool.connect();
  try {
    await tx.query("BEGIN");
    await work(tx);
    await tx.query("COMMIT");
  } catch (error) {
    await tx.query("ROLLBACK");
    throw error;
  } finally {
    tx.release();
  }
}
