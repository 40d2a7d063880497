// Nightly report: every night at three, in local time, exactly one run. docs/cookbook/nightly-report.md shows this file.

import { activity, orchestration } from "../../src/index.ts";
import { schedule } from "../../src/schedule/index.ts";

const REGIONS = ["eu", "us", "asia"];

export const revenue = activity("revenue", async ({ region, day }: Record<string, string>) => {
  return { region, day, cents: 0 }; // your database, in a real program
});
export const mail = activity("mail", async (report: { day: string; lines: readonly string[] }) => {
  console.log(report); // your mail service, in a real program
});

export const report = orchestration("report", async (ctx, day: string) => {
  const figures = await ctx.all(
    REGIONS.map((region) => ctx.run(revenue, { region, day }, { attempts: 10, timeout: "5m" })),
  );
  const lines = figures.map(({ region, cents }) => `${region}: ${cents}`);
  await ctx.run(mail, { day, lines }, { attempts: 10 });
  return lines;
});

export const nightly = schedule("nightly-report", {
  cron: "0 3 * * *",
  timezone: "Europe/Berlin",
  start: report,
  input: (time) => new Date(time.getTime() - 86_400_000).toISOString().slice(0, 10), // yesterday
  missed: "all", // a report for each night without a worker
  overlap: "allow",
});
