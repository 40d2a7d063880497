// Timers across long durations, restarts, crashes and changes of the wall clock (P5).

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { sizeOn } from "../../support/test-store.ts";
import { scenario } from "../support/scenario.ts";
import { DAILY } from "../support/world.ts";

const DAY_MS = 86_400_000;

scenario("a sleep longer than the host's timer limit (2³¹ ms) lasts its full duration", () => {
  const main = orchestration("main", async (ctx) => {
    const begun = ctx.now().getTime();
    await ctx.sleep("60d");
    return (ctx.now().getTime() - begun) / DAY_MS;
  });
  return {
    register: [main],
    runtime: DAILY,
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("25d"); // past 2³¹ − 1 ms, where a host timer would fire at once
      await t.advance("34d");
      expect((await handle.describe()).status).toBe("running");
      await t.advance("1d");
      expect(await t.result(handle)).toBe(60);
    },
  };
});

scenario("a sleep counts from its call, not from the start of the history", () => {
  const main = orchestration("main", async (ctx) => {
    const stamps: number[] = [];
    for (let i = 0; i < 3; i++) {
      const begun = ctx.now().getTime();
      await ctx.sleep("10m");
      stamps.push(ctx.now().getTime() - begun);
    }
    return stamps;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("5m");
      await t.deploy(); // a replay must not start the sleep again
      await t.advance("30m");
      expect(await t.result(handle)).toEqual([600_000, 600_000, 600_000]);
    },
  };
});

scenario("timers that became due while no process ran fire in due order afterwards", () => {
  const main = orchestration("main", async (ctx) => {
    const order: string[] = [];
    await ctx.all(
      ["40m", "10m", "30m", "20m"].map((time) =>
        ctx.sleep(time as "40m").map(() => void order.push(time)),
      ),
    );
    return order;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.stop();
      await t.advance("1h");
      await t.boot();
      expect(await t.result(handle)).toEqual(["10m", "20m", "30m", "40m"]);
    },
  };
});

scenario("a crash before a timer fires loses nothing, a crash after it repeats nothing", (t) => {
  let runs = 0;
  const after = activity("after", () => ++runs);
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1d");
    const first = await ctx.run(after);
    await ctx.sleep("1d");
    return [first, await ctx.run(after)];
  });
  return {
    register: [after, main],
    run: async () => {
      const { id } = await t.client.start(main, undefined, { id: "i" });
      await t.crashAndRecover();
      await t.advance("1d");
      expect(runs).toBe(1);
      await t.crashAndRecover();
      await t.advance("1d");
      expect(await t.result(t.client.get(main, id))).toEqual([1, 2]);
    },
  };
});

scenario("setting the wall clock back makes a timer late, never early", () => {
  const main = orchestration("main", async (ctx) => {
    const stamps = [ctx.now().getTime()];
    await ctx.sleep("10m");
    stamps.push(ctx.now().getTime());
    await ctx.sleep("1m");
    stamps.push(ctx.now().getTime());
    return stamps;
  });
  return {
    register: [main],
    run: async (t) => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("5m");
      t.environment.jumpWallClock(-3_600_000);
      await t.advance("10m");
      expect((await handle.describe()).status).toBe("running");
      await t.advance("2h");
      expect(await t.result(handle)).toEqual([begun, begun + 600_000, begun + 660_000]);
    },
  };
});

scenario("many sleeping instances wake at their due times", () => {
  const main = orchestration("main", async (ctx, minutes: number) => {
    await ctx.sleep(minutes * 60_000);
    return ctx.now();
  });
  return {
    register: [main],
    run: async (t) => {
      const begun = t.now();
      const count = sizeOn({ sqlite: 200, postgres: 40 });
      const minutes = Array.from({ length: count }, (_, i) => ((i * 37) % count) + 1);
      const handles = await Promise.all(
        minutes.map((n) => t.client.start(main, n, { id: `sleeper-${n}` })),
      );
      await t.advance(count * 60_000);
      for (const [index, handle] of handles.entries()) {
        const due = new Date(begun + (minutes[index] ?? 0) * 60_000);
        expect(await t.result(handle)).toEqual(due);
      }
    },
  };
});
