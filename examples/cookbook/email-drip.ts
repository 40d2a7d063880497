// Email drip: a series of mails over two weeks, until the customer buys. docs/cookbook/email-drip.md shows this file.

import { activity, event, orchestration } from "../../src/index.ts";

export const mail = activity("mail", async (message: { to: string; template: string }) => {
  console.log(message); // your mail service, in a real program
});
export const stop = event<"bought" | "unsubscribed">("stop");

const SERIES = [
  { template: "welcome", pause: "2d" },
  { template: "first-project", pause: "5d" },
  { template: "case-study", pause: "7d" },
  { template: "discount", pause: "3d" },
] as const;

export const drip = orchestration("drip", async (ctx, to: string) => {
  for (const { template, pause } of SERIES) {
    await ctx.run(mail, { to, template }, { attempts: 10 });
    const reason = await ctx.waitFor(stop, { timeout: pause });
    if (reason !== null) return reason;
  }
  return "finished";
});
