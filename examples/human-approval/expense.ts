// Timers and events: an expense waits for a person, sends a reminder, and then asks that person's manager.

import { activity, event, orchestration } from "../../src/index.ts";

export interface Expense {
  readonly what: string;
  readonly cents: number;
  readonly approvers: readonly string[];
  readonly reminders: number;
}
export interface Decision {
  readonly by: string;
  readonly approved: boolean;
}
export type Outcome =
  | { readonly status: "paid"; readonly by: string; readonly receipt: string }
  | { readonly status: "rejected"; readonly by: string }
  | { readonly status: "nobody answered" };

export const decision = event<Decision>("decision");

export const notify = activity("notify", async (mail: { to: string; text: string }) => {
  console.log(`  mail to ${mail.to}: ${mail.text}`);
});
export const pay = activity("pay", async (expense: Expense) => `paid ${expense.cents} cents`);

export const expense = orchestration("expense", async (ctx, expense: Expense): Promise<Outcome> => {
  for (const approver of expense.approvers) {
    for (let reminder = 0; reminder <= expense.reminders; reminder++) {
      ctx.setStatus({ waitingFor: approver, reminder });
      const text = reminder === 0 ? `please approve ${expense.what}` : `reminder ${reminder}`;
      await ctx.run(notify, { to: approver, text });

      const details = { approver, what: expense.what };
      const answer = await ctx.waitFor(decision, { timeout: "1d", details });
      if (answer === null) continue;

      const { by, approved } = answer;
      if (!approved) return { status: "rejected", by };
      return { status: "paid", by, receipt: await ctx.run(pay, expense) };
    }
  }
  return { status: "nobody answered" };
});
