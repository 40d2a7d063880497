// Schedules among processes that come and go: each time has its run, on every store (schedule.test.ts has the rest).

import { expect } from "vitest";
import { orchestration } from "../../src/index.ts";
import { schedule } from "../../src/schedule/index.ts";
import { scenario } from "../scenarios/support/scenario.ts";
import type { World } from "../scenarios/support/world.ts";

const report = orchestration("report", async (_, day: string) => `report of ${day}`);
const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
const nightly = schedule("nightly", { cron: "0 3 * * *", start: report, input: dayOf });

async function runs(t: World): Promise<readonly string[]> {
  const filter = { attributes: { schedule: "nightly" } };
  const { items } = await t.client.list(filter, { order: "oldest" });
  return items.map(({ id }) => id.slice("nightly/2026-01-".length, -":00.000Z".length));
}

scenario("a week with a crash, a night without a process and a deploy that moves the hour", () => {
  const later = schedule("nightly", { cron: "30 4 * * *", start: report, input: dayOf });
  return {
    register: [nightly, report],
    run: async (t) => {
      await nightly.apply(t.client);
      await t.advance("27h");
      expect(await runs(t)).toEqual(["01T03:00", "02T03:00"]);

      await t.crashAndRecover(); // four hours
      await t.advance("21h");
      expect(await runs(t)).toEqual(["01T03:00", "02T03:00", "03T03:00"]);

      await t.stop();
      await t.advance("48h"); // nobody is there for the fourth and the fifth
      await t.boot();
      await nightly.apply(t.client);
      await t.settle();
      expect((await runs(t)).slice(3)).toEqual(["05T03:00"]);

      await t.deploy([later, report]);
      await later.apply(t.client);
      await t.advance("50h");
      expect((await runs(t)).slice(4)).toEqual(["05T04:30", "06T04:30", "07T04:30"]);
      const last = t.client.get(report, "nightly/2026-01-07T04:30:00.000Z");
      expect(await t.result(last)).toBe("report of 2026-01-07");
    },
  };
});

scenario("two processes that begin it at once have one schedule, and each of its times one run", {
  register: [nightly, report],
  differs: { in: "everything", because: "whether the slower one finds a rule already is chance" },
  run: async (t) => {
    const second = await t.boot();
    await Promise.all([nightly.apply(t.client), nightly.apply(second.client)]);
    await t.advance("51h");
    expect(await runs(t)).toEqual(["01T03:00", "02T03:00", "03T03:00"]);
  },
});

scenario("a trigger raised twice with one request id is one run, beside those of the calendar", {
  register: [nightly, report],
  differs: {
    in: "everything",
    because: "a run's id is when it was taken, and news come in real time",
  },
  run: async (t) => {
    await nightly.apply(t.client);
    await t.advance("12h");
    for (let n = 0; n < 2; n++) {
      await t.client.raise("nightly", "trigger", undefined, { requestId: "by-hand" });
    }
    await t.advance("24h");
    expect(await t.client.count({ attributes: { schedule: "nightly" } })).toBe(3);
  },
});
