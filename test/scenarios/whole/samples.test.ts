// Common patterns: duroxide's documented samples and larger scenarios, written for Perdure.

import { expect } from "vitest";
import { activity, event, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("control flow: branches and loops on recorded values", () => {
  const flip = activity("flip", (n: number) => n % 2 === 0);
  const main = orchestration("main", async (ctx, numbers: readonly number[]) => {
    const path: string[] = [];
    for (const n of numbers) {
      if (await ctx.run(flip, n)) path.push(`even ${n}`);
      else path.push(`odd ${n}`);
    }
    return path;
  });
  return {
    register: [flip, main],
    run: async (t) => {
      const handle = await t.client.start(main, [1, 2, 3], { id: "i" });
      expect(await t.result(handle)).toEqual(["odd 1", "even 2", "odd 3"]);
    },
  };
});

scenario("polling a job until it is ready or its timeout passes", () => {
  let asked = 0;
  const status = activity("status", () => (++asked < 4 ? "working" : "ready"));
  const main = orchestration("main", (ctx) =>
    ctx.race({
      job: async () => {
        while ((await ctx.run(status)) !== "ready") await ctx.sleep("30s");
        return ctx.now();
      },
      late: ctx.sleep("10m"),
    }),
  );
  return {
    register: [status, main],
    run: async (t) => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10m");
      expect(await t.result(handle)).toEqual({ key: "job", value: new Date(begun + 90_000) });
    },
  };
});

scenario("an approval that escalates and expires", (t) => {
  const approval = event<{ by: string }>("approval");
  const mails: string[] = [];
  const mail = activity("mail", (to: string) => void mails.push(to));
  const main = orchestration("approval", async (ctx) => {
    for (const to of ["clerk", "manager", "director"]) {
      await ctx.run(mail, to);
      const first = await ctx.race({ yes: ctx.waitFor(approval), late: ctx.sleep("1d") });
      if (first.key === "yes") return `approved by ${first.value.by}`;
    }
    return "expired";
  });
  return {
    register: [mail, main],
    run: async () => {
      const lucky = await t.client.start(main, undefined, { id: "lucky" });
      const forgotten = await t.client.start(main, undefined, { id: "forgotten" });
      await t.advance("36h");
      await lucky.raise(approval, { by: "the manager" });
      await t.advance("2d");
      expect(await t.result(lucky)).toBe("approved by the manager");
      expect(await t.result(forgotten)).toBe("expired");
      expect(mails).toHaveLength(5);
    },
  };
});

scenario("fan-out and fan-in over a list, a few at a time", () => {
  let running = 0;
  let most = 0;
  const ship = activity("ship", async (line: number) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return line * 10;
  });
  const main = orchestration("main", async (ctx, lines: readonly number[]) => {
    const results: number[] = [];
    for (let i = 0; i < lines.length; i += 4) {
      results.push(...(await ctx.all(lines.slice(i, i + 4).map((line) => ctx.run(ship, line)))));
    }
    return results;
  });
  return {
    register: [ship, main],
    run: async (t) => {
      const lines = Array.from({ length: 10 }, (_, n) => n);
      const handle = await t.client.start(main, lines, { id: "i" });
      expect(await t.result(handle)).toEqual(lines.map((n) => n * 10));
      expect(most).toBeLessThanOrEqual(4);
    },
  };
});

scenario("a configuration is reloaded while the work continues", () => {
  const used: string[] = [];
  const work = activity("work", (config: string) => void used.push(config));
  const main = orchestration("main", async (ctx, config: string): Promise<string> => {
    const first = await ctx.race({ tick: ctx.sleep("1m"), config: ctx.waitFor("config") });
    if (first.key === "config" && first.value === "stop") return config;
    if (first.key === "config") return ctx.continueAsNew(String(first.value));
    await ctx.run(work, config);
    return ctx.continueAsNew(config);
  });
  return {
    register: [work, main],
    run: async (t) => {
      const handle = await t.client.start(main, "v1", { id: "i" });
      await t.advance("2m");
      await handle.raise("config", "v2");
      await t.advance("2m");
      await handle.raise("config", "stop");
      expect(await t.result(handle)).toBe("v2");
      expect(used).toEqual(["v1", "v1", "v2", "v2"]);
    },
  };
});
