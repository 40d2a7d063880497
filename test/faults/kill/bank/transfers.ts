// Transfers between accounts: a debit, a credit, and the refund where the credit was refused.

import { setTimeout as pause } from "node:timers/promises";
import {
  activity,
  ActivityError,
  NonRetryableError,
  orchestration,
  type ActivityContext,
} from "../../../../src/index.ts";
import { ACCOUNTS, type Booking, type Ledger } from "./ledger.ts";

export interface Order {
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}
export const ENDINGS = ["moved", "refunded", "insufficient"] as const;
export type Ending = (typeof ENDINGS)[number];

/** The delay of the ledger's reply: a process may die between the booking and its result. */
const ANSWER_MS = 15;
/** Every CLOSED_EVERY-th account, the first one included, is closed and rejects credits. */
const CLOSED_EVERY = 25;

export function isClosed(account: number): boolean {
  return account % CLOSED_EVERY === 0;
}

/** Every CLOSED_EVERY-th transfer is a small one to a closed account, so that every run refunds some. */
export function orderOf(number: number, random: () => number): Order {
  const account = (): number => Math.floor(random() * ACCOUNTS);
  const [from, to] = [account(), account()];
  if (number % CLOSED_EVERY === 0) return { from, to: 0, amount: 1 };
  return { from, to, amount: 1 + Math.floor(random() * 1_100) };
}

/** A client that only starts transfers needs no ledger. */
export function defineBank(ledger: Ledger | null, onBegin: () => void = () => undefined) {
  async function book(
    what: Booking["what"],
    posting: Pick<Booking, "account" | "amount">,
    { idempotencyKey: key, info }: ActivityContext,
  ): Promise<void> {
    if (ledger === null) throw new Error("This process has no ledger.");
    onBegin();
    const booked = await ledger.book({ key, transfer: info.instanceId, what, ...posting });
    await pause(ANSWER_MS);
    if (booked === "insufficient") throw new NonRetryableError("insufficient funds");
  }
  const debit = activity("debit", ({ from, amount }: Order, ctx) =>
    book("debit", { account: from, amount: -amount }, ctx),
  );
  const credit = activity("credit", ({ to, amount }: Order, ctx) => {
    if (isClosed(to)) throw new NonRetryableError("the account is closed");
    return book("credit", { account: to, amount }, ctx);
  });
  const refund = activity("refund", ({ from, amount }: Order, ctx) =>
    book("refund", { account: from, amount }, ctx),
  );
  const transfer = orchestration("transfer", async (ctx, order: Order): Promise<Ending> => {
    try {
      await ctx.run(debit, order);
    } catch (error) {
      return refused(error, "insufficient");
    }
    try {
      await ctx.run(credit, order);
    } catch (error) {
      const ending = refused(error, "refunded");
      await ctx.run(refund, order);
      return ending;
    }
    return "moved";
  });
  return { transfer, register: [debit, credit, refund, transfer] };
}

/** A rejection by the bank is an expected ending; any other error is a fault of the test. */
function refused(error: unknown, ending: Ending): Ending {
  if (error instanceof ActivityError && error.kind === "application") return ending;
  throw error;
}
