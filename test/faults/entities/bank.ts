// A bank of entities: accounts that orchestrations call to transfer money.
//   - Every account counts its bookings per transfer, so that an effect that happens twice is visible.
//   - The outcomes do not depend on the order in which the accounts handle the calls.

import { entity } from "../../../src/entity/index.ts";
import { activity, orchestration, RequestError } from "../../../src/index.ts";
import type { AuditedStore } from "./open-calls.ts";

/** A booking of a transfer. Its text is the request that the account received. */
interface Booking {
  readonly transfer: string;
  readonly cents: number;
}
interface Account {
  cents: number;
  isClosed: boolean;
  /** How often each booking happened. */
  booked: Record<string, number>;
}

function book(state: Account, what: string, { transfer, cents }: Booking): void {
  if (state.isClosed && what !== "refund") throw new Error("the account is closed");
  state.cents += what === "withdraw" ? -cents : cents;
  const name = `${transfer} ${what}`;
  state.booked[name] = (state.booked[name] ?? 0) + 1;
  if (state.cents < 0) throw new RangeError("the account has too little money");
}

export const account = entity("account", {
  state: (): Account => ({ cents: 0, isClosed: false, booked: {} }),
  handlers: {
    deposit: (self, booking: Booking) => book(self.state, "deposit", booking),
    withdraw: (self, booking: Booking) => book(self.state, "withdraw", booking),
    /** Takes the money of a transfer back. It works on a closed account too. */
    refund: (self, booking: Booking) => book(self.state, "refund", booking),
    close: (self) => void (self.state.isClosed = true),
    cents: (self) => self.state.cents,
  },
  reads: { all: (state) => state },
});

interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly cents: number;
}
const transfer = orchestration("transfer", async (ctx, { from, to, cents }: Transfer) => {
  const booking = { transfer: ctx.info.instanceId, cents };
  try {
    await ctx.entity(account, from).withdraw(booking);
  } catch (error) {
    if (error instanceof RequestError) return "insufficient";
    throw error;
  }
  try {
    await ctx.entity(account, to).deposit(booking);
    return "moved";
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    await ctx.entity(account, from).refund(booking);
    return "refunded";
  }
});

const OPENING = { ada: 100, bob: 100, eve: 0 } as const;
const NAMES = ["ada", "bob", "eve"] as const;
const TRANSFERS: readonly Transfer[] = [
  { from: "ada", to: "bob", cents: 30 },
  { from: "bob", to: "ada", cents: 20 },
  { from: "ada", to: "eve", cents: 10 }, // eve's account is closed
  { from: "eve", to: "bob", cents: 1 }, // also closed: nothing is withdrawn
  { from: "bob", to: "ada", cents: 500 }, // never enough
];
const ENDINGS = ["moved", "moved", "refunded", "insufficient", "insufficient"];

/** Opens the accounts, makes the transfers concurrently and asks for the balances. */
export const payday = orchestration("payday", async (ctx) => {
  for (const name of NAMES) {
    await ctx.entity(account, name).deposit({ transfer: "opening", cents: OPENING[name] });
  }
  await ctx.entity(account, "eve").close();
  const endings = await ctx.all(
    TRANSFERS.map((each, n) => ctx.call(transfer, each, { id: `transfer-${n}` })),
  );
  const balances = await ctx.all(NAMES.map((name) => ctx.entity(account, name).cents()));
  return { endings, balances };
});
export const PAYDAY_RESULT = { endings: ENDINGS, balances: [90, 110, 0] };
export const bank = [account, transfer, payday];

/** Differences between the books and the transfers. */
export async function bookFaults({ client }: AuditedStore): Promise<readonly string[]> {
  const expected: Record<string, Record<string, number>> = {};
  const expect = (name: string, booking: string): void =>
    void ((expected[name] ??= {})[booking] = 1);
  for (const name of NAMES) expect(name, "opening deposit");
  for (const [n, { from, to }] of TRANSFERS.entries()) {
    const ending = ENDINGS[n];
    if (ending !== "insufficient") expect(from, `transfer-${n} withdraw`);
    if (ending === "moved") expect(to, `transfer-${n} deposit`);
    if (ending === "refunded") expect(from, `transfer-${n} refund`);
  }
  const faults: string[] = [];
  let total = 0;
  for (const name of NAMES) {
    const { cents, booked } = await client.entity(account, name).all();
    total += cents;
    for (const booking of new Set([...Object.keys(booked), ...Object.keys(expected[name] ?? {})])) {
      const [found = 0, due = 0] = [booked[booking], expected[name]?.[booking]];
      if (found !== due) faults.push(`${name} booked ${booking} ${found} times instead of ${due}`);
    }
  }
  const opened = NAMES.reduce((sum, name) => sum + OPENING[name], 0);
  if (total !== opened) faults.push(`the bank holds ${total} instead of ${opened}`);
  return faults;
}

/** A client in the process that crashes. It asks with a request id that a repeated run chooses again. */
export const pay = activity("pay", async (cents: number, { client, idempotencyKey }) => {
  const requestId = `pay-${idempotencyKey}`;
  const booking = { transfer: "pay", cents };
  await client.entity(account, "shop").deposit(booking, { requestId });
  return (await client.entity(account, "shop").all()).booked;
});
export const purchase = orchestration("purchase", async (ctx) => {
  const retry = { maxAttempts: 20, backoff: { kind: "fixed", base: "1s" } } as const;
  return ctx.run(pay, 7, { retry });
});
