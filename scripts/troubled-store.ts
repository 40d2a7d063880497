// A store in trouble: 1,000 instances, some failed, some blocked, some retrying, and no worker running.
// scripts/screenshots.ts takes pictures of it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { orchestration, Perdure, type Client } from "../src/index.ts";
import {
  approval,
  charge,
  driftAfter,
  driftBefore,
  fulfil,
  go,
  SHOP,
  stubborn,
  type Order,
} from "../test/interfaces/ui/support/shop.ts";
import { until, waitsForEvent } from "../test/interfaces/ui/support/world.ts";

const QUIET = { log: () => undefined };
const ORDERS = 400;
const APPROVED = 300; // each of these orders has an invoice as its child
const DRIFTED = 41;
const REFUNDS = 87;
const PAYOUTS = 60;
const STUBBORN = 12;
const REPORTS = 100;

/** The next version of the shop's refund, with two bugs. */
const refund = orchestration(
  "refund",
  async (ctx, order: Order) => {
    const { receipt } = await ctx.run(charge, order);
    if (order.lines.length > 2)
      throw new TypeError("Cannot read properties of undefined (reading 'iban')");
    throw new Error(`refund of ${receipt} refused: account ${order.customer} is closed`);
  },
  { version: "1.1.0" },
);
const payout = orchestration("payout", async (_ctx, n: number) => {
  if (n % 5 === 0) throw new Error(`connect ECONNREFUSED 10.0.0.${n}:443`);
  return n;
});
const report = orchestration("report", async (_ctx, n: number) => n);
const shop = [
  ...SHOP.filter(({ name }) => name !== "payout" && name !== "refund"),
  refund,
  payout,
  report,
];

export interface TroubledStore extends AsyncDisposable {
  /** A store without a worker. */
  readonly perdure: Perdure;
}

export async function openTroubledStore(): Promise<TroubledStore> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-troubled-"));
  const store = `sqlite:${join(folder, "shop.db")}`;
  {
    await using before = await Perdure.open(store, {
      register: [...shop, driftBefore],
      runtime: QUIET,
    });
    await many(DRIFTED, (n) => startDrift(before, n));
  }
  {
    await using after = await Perdure.open(store, {
      register: [...shop, driftAfter],
      runtime: QUIET,
    });
    await work(after);
  }
  const perdure = await Perdure.open(store, { runtime: QUIET, autoStart: false });
  return {
    perdure,
    async [Symbol.asyncDispose]() {
      await perdure.close({ graceMs: 0 });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startDrift(perdure: Perdure, n: number): Promise<void> {
  await perdure.client.start(driftBefore, orderOf(n), { id: `drift-${n}` });
  await until(perdure, `drift-${n}`, waitsForEvent);
}

async function work(perdure: Perdure): Promise<void> {
  const { client } = perdure;
  await many(ORDERS, (n) => fulfilled(perdure, n));
  await many(REPORTS, async (n) => settled(client.start(report, n, { id: `report-${n}` })));
  await many(PAYOUTS, async (n) => settled(client.start(payout, n, { id: `payout-${n}` })));
  await many(REFUNDS, async (n) =>
    settled(client.start(refund, orderOf(n), { id: `refund-${n}` })),
  );
  await many(STUBBORN, async (n) => {
    await client.start(stubborn, `DE${n}`, { id: `settlement-${n}` });
    await until(
      perdure,
      `settlement-${n}`,
      ({ waitingFor }) =>
        waitingFor.length === 2 &&
        waitingFor.every((wait) => "attempt" in wait && wait.attempt === 5),
    );
  });
  await many(DRIFTED, async (n) => {
    await client.get(`drift-${n}`).raise(go);
    await until(perdure, `drift-${n}`, ({ blocked }) => blocked !== undefined);
  });
  await client.get("order-350").pause({ reason: "stock-taking", by: "otto" });
  await settled(cancelled(client, "order-360"));
}

async function fulfilled(perdure: Perdure, n: number): Promise<void> {
  const id = `order-${n}`;
  const handle = await perdure.client.start(fulfil, orderOf(n), { id });
  await until(perdure, id, waitsForEvent);
  if (n > APPROVED) return;
  await handle.raise(approval, { by: n % 2 === 0 ? "ada" : "otto" });
  await handle.result();
}

async function cancelled(client: Client, id: string) {
  await client.get(id).cancel({ reason: "customer called", by: "ada" });
  return client.get(id);
}

function orderOf(n: number): Order {
  const lines = ["chair", "table", "lamp"].slice(0, 1 + (n % 3));
  return { id: `o-${n}`, customer: `c-${n % 7}`, lines };
}

/** Calls `one` for 1 to `count`, a few at a time. */
async function many(count: number, one: (n: number) => Promise<void>): Promise<void> {
  for (let first = 1; first <= count; first += 50) {
    const numbers = Array.from({ length: Math.min(50, count - first + 1) }, (_, at) => first + at);
    await Promise.all(numbers.map(one));
  }
}

async function settled(starting: Promise<{ result(): Promise<unknown> }>): Promise<void> {
  const handle = await starting;
  await handle.result().catch(() => undefined);
}
