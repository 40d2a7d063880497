// Schedules across processes that start and stop: each scheduled time has its run, on every store (schedule.test.ts
// has the other tests).

import { expect } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { schedule } from "../../../src/schedule/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import type { World } from "../../scenarios/support/world.ts";

const report = orchestration("report", async (_, day: string) => `report of ${day}`);
const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
const nightly = schedule("nightly", { cron: "0 3 * * *", start: report, input: dayOf });

async function runs(t: World): Promise<readonly string[]> {
  const filter = { attributes: { schedule: "nightly" } };
  const { items } = await t.client.list(filter, { order: "oldest" });
  return items.map(({ id }) => id.slice("nightly/2026-01-".length, -":00.000Z".length));
}

scenario("a schedule survives a crash, nights without a process and a new rule", () => {
  const later = schedule("nightly", { cron: "30 4 * * *", start: report, input: dayOf });
  return {
    register: [nightly, report],
    run: async (t) => {
      await t.advance("27h");
      expect(await runs(t)).toEqual(["01T03:00", "02T03:00"]);

      await t.crashAndRecover(); // four hours
      await t.advance("21h");
      expect(await runs(t)).toEqual(["01T03:00", "02T03:00", "03T03:00"]);

      await t.stop();
      await t.advance("48h"); // no process runs on the fourth and the fifth
      await t.boot();
      await t.settle();
      expect((await runs(t)).slice(3)).toEqual(["05T03:00"]);

      await t.deploy([later, report]);
      expect(t.logs.filter(({ message }) => message.startsWith("schedule"))).toEqual([
        expect.objectContaining({ level: "info" }), // the rule changes, and no other process has the old rule
      ]);
      await t.advance("50h");
      expect((await runs(t)).slice(4)).toEqual(["05T04:30", "06T04:30", "07T04:30"]);
      const last = t.client.get(report, "nightly/2026-01-07T04:30:00.000Z");
      expect(await t.result(last)).toBe("report of 2026-01-07");
    },
  };
});

scenario("two processes that apply a schedule at once share it, with one run per scheduled time", {
  register: [nightly, report],
  differs: {
    in: "everything",
    because: "whether the slower process finds the rule already depends on timing",
  },
  run: async (t) => {
    const second = await t.boot();
    await Promise.all([nightly.apply(t.client), nightly.apply(second.client)]);
    await t.advance("51h");
    expect(await runs(t)).toEqual(["01T03:00", "02T03:00", "03T03:00"]);
  },
});

scenario("a trigger raised twice with one request id starts one additional run", {
  register: [nightly, report],
  differs: {
    in: "everything",
    because: "the id of a run has the time of its trigger, and notifications arrive in real time",
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

scenario("a schedule with `apply: false` runs only after `apply`", () => {
  const manual = schedule("nightly", {
    cron: "0 3 * * *",
    start: report,
    input: dayOf,
    apply: false,
  });
  return {
    register: [manual, report],
    run: async (t) => {
      await t.advance("27h");
      expect(await t.client.count()).toBe(0);
      await manual.apply(t.client);
      await t.advance("24h");
      expect(await runs(t)).toEqual(["03T03:00"]);
    },
  };
});

scenario(
  "of two processes with different rules the last rule applies, and a warning names both rules",
  () => {
    const later = schedule("nightly", { cron: "30 4 * * *", start: report, input: dayOf });
    return {
      register: [nightly, report],
      differs: { in: "everything", because: "either process may run the schedule" },
      run: async (t) => {
        await t.boot([later, report]);
        const warnings = () =>
          t.logs.flatMap((line) => (line.level === "warn" ? line.message : []));
        expect(warnings()).toEqual([
          expect.stringMatching(/^schedule "nightly": .*"0 3 \* \* \*".* by .*"30 4 \* \* \*"/),
        ]);
        await t.advance("51h");
        expect(await runs(t)).toEqual(["01T04:30", "02T04:30"]);
        expect(warnings()).toHaveLength(1);
        expect(await t.client.get("nightly").describe()).toMatchObject({ status: "running" });
      },
    };
  },
);

scenario("opening the store does not restart a cancelled schedule and logs a warning", {
  register: [nightly, report],
  differs: { in: "everything", because: "log lines of a runtime belong to no instance" },
  run: async (t) => {
    await t.advance("12h");
    await t.client.get("nightly").cancel("not this week");
    await t.settle();
    await t.deploy();
    await t.advance("24h");
    expect(await runs(t)).toEqual(["01T03:00"]);
    expect(t.logs).toContainEqual(
      expect.objectContaining({
        level: "warn",
        message: expect.stringContaining('schedule "nightly" was cancelled'),
      }),
    );
    await nightly.apply(t.client);
    await t.advance("24h");
    expect(await runs(t)).toHaveLength(2);
  },
});
