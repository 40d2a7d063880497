// The program that the demo runs: an order is priced, charged, approved, picked, sent and confirmed.
// It contains no code for crashes: no checkpoint, no state machine, no queue.

import { setTimeout as pause } from "node:timers/promises";
import { activity, event, orchestration, type ActivityContext } from "../src/index.ts";
import { APPROVAL_ABOVE, totalOf, type Line, type Order } from "./orders.ts";
import type { SideEffect } from "./side-effects.ts";

export interface Approval {
  readonly by: string;
}
export interface Fulfilled {
  readonly status: "shipped" | "expired";
  readonly total: number;
  readonly approvedBy: string | null;
  readonly parcels: readonly string[];
}

export const approval = event<Approval>("approval");

/** Activities record their side effects through `record`. A process that only starts orders runs no activities. */
export function defineFulfilment(record: (effect: SideEffect) => void) {
  /** The side effect happens first, and the answer returns later: a crash in between is the hard case. */
  async function act(order: Order, ctx: ActivityContext, answerMs: number): Promise<void> {
    const { attempt, idempotencyKey, info } = ctx;
    record({ order: order.id, activity: info.activity, key: idempotencyKey, attempt });
    await pause(answerMs, undefined, { signal: ctx.signal });
  }

  const charge = activity("charge", async (order: Order, ctx) => {
    await act(order, ctx, 180);
    if (ctx.attempt <= order.declines) throw new Error(`card declined, attempt ${ctx.attempt}`);
    return `receipt-${order.id}`;
  });
  const pick = activity("pick", async (work: { order: Order; line: Line }, ctx) => {
    await act(work.order, ctx, 140 + work.line.quantity * 80);
    return `${work.line.quantity} × ${work.line.item}`;
  });
  const label = activity("label", async (order: Order, ctx) => {
    await act(order, ctx, 120);
    return `label-${order.id}`;
  });
  const notify = activity("notify", async (order: Order, ctx) => {
    await act(order, ctx, 100);
  });

  const fulfil = orchestration("fulfil", async (ctx, order: Order): Promise<Fulfilled> => {
    const total = await ctx.step("price", () => totalOf(order));
    const retry = { maxAttempts: 5, backoff: { kind: "fixed", base: "150ms" } } as const;
    await ctx.run(charge, order, { retry, timeout: "10s" });

    let approvedBy: string | null = null;
    if (total > APPROVAL_ABOVE) {
      const first = await ctx.race({ yes: ctx.waitFor(approval), late: ctx.sleep("2d") });
      if (first.key === "late") return { status: "expired", total, approvedBy, parcels: [] };
      approvedBy = first.value.by;
    }
    const parcels = await ctx.all(order.lines.map((line) => ctx.run(pick, { order, line })));
    await ctx.run(label, order);
    await ctx.sleep("400ms"); // until the courier comes
    await ctx.run(notify, order);
    return { status: "shipped", total, approvedBy, parcels };
  });

  return { fulfil, register: [fulfil, charge, pick, label, notify] };
}
