// Programs with orchestrations of the library itself: schedules and limiters. They run in users' stores for years, and
// users cannot keep the old code of the library. The rules of programs.ts apply. The histories of limiters were recorded
// when limiters were called gates.

import { limiter, type LimiterRunOptions } from "../../src/limiter/index.ts";
import { orchestration } from "../../src/index.ts";
import { schedule } from "../../src/schedule/index.ts";
import type { TestEnvironment } from "../../src/testing/index.ts";
import type { Program } from "./programs.ts";

const report = orchestration("report", async (_, day: string) => day);
const nightly = schedule("nightly", {
  cron: "30 2 * * *",
  timezone: "Europe/Berlin",
  start: report,
  input: (time) => time.toISOString(),
  overlap: "cancel",
  maxLateness: "6h",
  jitter: "5m",
});
const hourly = schedule("hourly", {
  every: "1h",
  start: report,
  input: "now",
  until: new Date("2026-01-01T02:30:00Z"),
});

const narrow = limiter("narrow", { concurrency: 1 });
const slow = limiter("slow", { concurrency: 2, rate: { count: 2, per: "1m" } });
const paced = limiter("paced", { rate: { count: 1, per: "10s" } });
const passing = orchestration("passing", async (ctx, wait: string | undefined) => {
  const options: LimiterRunOptions = wait === undefined ? {} : { timeout: "5s", key: "k" };
  const stay = () => slow.run(ctx, () => paced.run(ctx, () => ctx.sleep("7s")));
  return narrow.run(ctx, stay, options).catch((error: unknown) => String(error));
});

async function pass(t: TestEnvironment): Promise<void> {
  for (const id of ["p1", "p2", "p3"]) await t.client.start(passing, undefined, { id });
  for (const id of ["k1", "k2"]) await t.client.start(passing, "5s", { id });
  await t.advance("10s");
  await t.client.get("p2").cancel("changed");
  await t.advance("20m"); // every limiter has ended
  await t.client.start(passing, undefined, { id: "live1" });
  await t.client.start(passing, undefined, { id: "live2" });
  await t.advance("3s");
}

export const OUR_PROGRAMS: readonly Program[] = [
  {
    name: "schedules",
    register: [nightly, hourly, report],
    async run(t) {
      await nightly.apply(t.client);
      await hourly.apply(t.client);
      await t.advance("30h");
      await nightly.trigger(t.client);
      await t.settle();
      await t.client.get("nightly").pause("a week");
      await t.advance("7d");
      await t.client.get("nightly").resume();
      await t.advance("12h");
    },
  },
  { name: "gates", register: [narrow, slow, paced, passing], run: pass },
];
