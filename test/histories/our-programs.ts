// Programs with orchestrations that are ours, schedules and gates: they live in users' stores for years, and no user can
// keep their old code. The rules of programs.ts hold.

import { gate, type PassOptions } from "../../src/gate/index.ts";
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

const narrow = gate("narrow", { atOnce: 1 });
const slow = gate("slow", { atOnce: 2, rate: { count: 2, per: "1m" } });
const paced = gate("paced", { rate: { count: 1, per: "10s" } });
const passing = orchestration("passing", async (ctx, wait: string | undefined) => {
  const options: PassOptions = wait === undefined ? {} : { wait: "5s", key: "k" };
  const stay = () => slow.run(ctx, () => paced.run(ctx, () => ctx.sleep("7s")));
  return narrow.run(ctx, stay, options).catch((error: unknown) => String(error));
});

async function pass(t: TestEnvironment): Promise<void> {
  for (const id of ["p1", "p2", "p3"]) await t.client.start(passing, undefined, { id });
  for (const id of ["k1", "k2"]) await t.client.start(passing, "5s", { id });
  await t.advance("10s");
  await t.client.get("p2").cancel("changed");
  await t.advance("20m"); // every gate has ended
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
