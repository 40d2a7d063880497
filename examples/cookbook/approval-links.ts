// Approval links: a person decides with a link in a mail. docs/cookbook/approval-links.md shows this file.

import { activity, orchestration } from "../../src/index.ts";
import { callback } from "../../src/callback/index.ts";
import * as v from "valibot";

interface Expense {
  readonly what: string;
  readonly approver: string;
}

export const mail = activity("mail", async (message: { to: string; text: string }) => {
  console.log(message); // your mail service, in a real program
});
export const decision = callback("decision", {
  schema: v.object({ decision: v.picklist(["approve", "reject"]) }),
});

export const approve = orchestration("approve", async (ctx, { what, approver: to }: Expense) => {
  const answer = ctx.callback(decision, { timeout: "3d" });
  const links = ["approve", "reject"].map((word) => `${word}: ${answer.url}?decision=${word}`);
  const text = [what, ...links].join("\n");
  await ctx.run(mail, { to, text }, { attempts: 5 });

  const reminder = ctx.scope(async () => {
    await ctx.sleep("1d");
    await ctx.run(mail, { to, text: `Reminder: ${text}` }, { attempts: 5 });
  });
  const answered = await answer;
  reminder.cancel();
  return answered?.decision ?? "expired";
});
