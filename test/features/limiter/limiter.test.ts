// Limiters: the rule is never exceeded, and every caller is admitted eventually.

import { expect, onTestFinished, test } from "vitest";
import { limiter, type Limiter, type LimiterStatus } from "../../../src/limiter/index.ts";
import { storedRule } from "../../../src/limiter/rule.ts";
import { activity, orchestration } from "../../../src/index.ts";
import { crashEverywhere, TestEnvironment } from "../../../src/testing/index.ts";

const two = limiter("two", { concurrency: 2 });
const isFull = process.env["PERDURE_FULL"] === "1";
/** The events limit of one execution (loop.ts). */
const EVENTS_MAX = 30_000;
/** With PERDURE_FULL: more callers than EVENTS_MAX. */
const WAITING = isFull ? 35_000 : 1_500;

/** An orchestration that holds a slot for some time and records when it got and released it. */
function visitor(through: Limiter) {
  const visits: { id: string; in: number; out: number }[] = [];
  const note = activity("note", async (visit: (typeof visits)[number]) => void visits.push(visit));
  interface Visit {
    readonly stay: number;
    readonly key?: string;
    readonly timeout?: string;
  }
  const visit = orchestration("visit", async (ctx, { stay, ...options }: Visit) => {
    const span = await through.run(
      ctx,
      async () => {
        const from = ctx.now().getTime();
        await ctx.sleep(stay);
        return { in: from, out: ctx.now().getTime() };
      },
      options as Parameters<Limiter["run"]>[2],
    );
    await ctx.run(note, { id: ctx.info.instanceId, ...span });
    return "passed";
  });
  return { visits, visit, register: [through, visit, note] };
}

async function kitWith(register: Parameters<typeof TestEnvironment.create>[0]["register"]) {
  const kit = await TestEnvironment.create({ register });
  onTestFinished(() => kit.close());
  return kit;
}

/** The largest number of slots in use at the same time. */
function mostConcurrent(visits: readonly { in: number; out: number }[]): number {
  const insideAt = (time: number) => visits.filter((v) => v.in <= time && time < v.out).length;
  return Math.max(...visits.map((visit) => insideAt(visit.in)));
}

test("twenty callers are admitted two at a time, in the order of their requests", async () => {
  const { visits, visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 20; n++) {
    await kit.client.start(visit, { stay: 1_000 }, { id: `v${n}` });
    await kit.settle();
  }
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({
    concurrency: 2,
    inUse: 2,
    holders: ["v0", "v1"],
  } satisfies Partial<LimiterStatus>);
  await kit.advance("11s");
  expect(visits.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => `v${n}`));
  expect(mostConcurrent(visits)).toBe(2);
});

test("a rate admits five callers within any ten seconds, independent of the duration of their work", async () => {
  const { visits, visit, register } = visitor(limiter("slow", { rate: { count: 5, per: "10s" } }));
  const kit = await kitWith(register);
  for (let n = 0; n < 23; n++) {
    await kit.client.start(visit, { stay: n % 3 === 0 ? 60_000 : 1 }, { id: `v${n}` });
    await kit.advance("700ms");
  }
  const waiting = (await kit.client.get("slow").describe()).customStatus as LimiterStatus;
  expect(waiting).toMatchObject({ concurrency: null, inUse: 0, rate: { count: 5, perMs: 10_000 } });
  expect(waiting.nextAt?.getTime()).toBeGreaterThan(kit.now.getTime());
  await kit.advance("2m");
  const entered = visits.map((visit) => visit.in).sort((a, b) => a - b);
  expect(entered).toHaveLength(23);
  for (const [index, time] of entered.entries()) {
    const fifthBefore = entered[index - 5];
    if (fifthBefore !== undefined) expect(time - fifthBefore).toBeGreaterThanOrEqual(10_000);
  }
  expect((entered.at(-1) ?? 0) - (entered[0] ?? 0)).toBeLessThan(42_000); // the rate is used in full
  const events = await kit.client.get("v0").history();
  expect(events.filter(({ kind }) => kind === "EventRaised")).toEqual([]); // with only a rate, callers hold no slot
});

test("concurrency and rate together: three per minute, one at a time", async () => {
  const both = limiter("both", { concurrency: 1, rate: { count: 3, per: "1m" } });
  const { visits, visit, register } = visitor(both);
  const kit = await kitWith(register);
  for (let n = 0; n < 7; n++) await kit.client.start(visit, { stay: 5_000 });
  await kit.advance("5m");
  expect(mostConcurrent(visits)).toBe(1);
  const first = visits[0]?.in ?? 0;
  expect(visits.map((visit) => Math.round((visit.in - first) / 1_000))).toEqual([
    0, 5, 10, 60, 65, 70, 120,
  ]);
});

test("each key has a separate instance, which starts with the first caller and ends when idle", async () => {
  const { visits, visit, register } = visitor(limiter("tenant", { concurrency: 1 }));
  const kit = await kitWith(register);
  for (const key of ["a", "b", "c"]) {
    for (let n = 0; n < 2; n++) await kit.client.start(visit, { stay: 1_000, key });
  }
  await kit.advance("3s");
  expect(visits).toHaveLength(6);
  expect(mostConcurrent(visits)).toBe(3);
  const statuses = async () =>
    Promise.all(
      ["a", "b", "c"].map(async (key) => (await kit.client.get(`tenant/${key}`).describe()).status),
    );
  expect(await statuses()).toEqual(["running", "running", "running"]);
  await kit.advance("2m");
  expect(await statuses()).toEqual(["completed", "completed", "completed"]);
  await kit.client.start(visit, { stay: 1_000, key: "b" });
  await kit.advance("3s");
  expect(visits).toHaveLength(7);
});

test("a limiter keeps its rate while it is idle, for as long as the rate's period", async () => {
  const { visits, visit, register } = visitor(limiter("daily", { rate: { count: 1, per: "1d" } }));
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 1 });
  await kit.advance("23h");
  await kit.client.start(visit, { stay: 1 });
  await kit.advance("50m");
  expect(visits).toHaveLength(1);
  await kit.advance("20m");
  expect(visits).toHaveLength(2);
});

test("a caller whose timeout passes gets TIMEOUT, and the next caller is admitted", async () => {
  const { visits, visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 2; n++) await kit.client.start(visit, { stay: 90_000 });
  await kit.settle();
  const late = await kit.client.start(visit, { stay: 1_000, timeout: "10s" });
  const next = await kit.client.start(visit, { stay: 1_000 }, { id: "next" });
  await kit.advance("11s");
  await expect(late.result()).rejects.toMatchObject({
    message: expect.stringContaining('limiter "two": no slot became free within 10000 ms'),
  });
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inUse: 2 });
  await kit.advance("100s");
  expect(await next.result()).toBe("passed");
  expect(visits).toHaveLength(3);
});

test("the error code distinguishes a timeout from a failure of the work", async () => {
  const outer = orchestration("outer", async (ctx) => {
    const stays = two.run(ctx, () => ctx.sleep("1h"));
    const stays2 = two.run(ctx, () => ctx.sleep("1h"));
    const outcome = await two
      .run(ctx, () => "in", { timeout: "5s" })
      .catch((error: unknown) => (error as { code: string }).code);
    stays.cancel();
    stays2.cancel();
    return outcome;
  });
  const kit = await kitWith([two, outer]);
  const handle = await kit.client.start(outer);
  await kit.advance("6s");
  expect(await handle.result()).toBe("TIMEOUT");
});

test("a caller that is cancelled in the queue or in its work, or whose work fails, releases its slot at once", async () => {
  const one = limiter("one", { concurrency: 1 });
  const { visits, visit, register } = visitor(one);
  const fails = orchestration("fails", (ctx) =>
    one.run(ctx, () => {
      throw new Error("inside");
    }),
  );
  const kit = await kitWith([...register, fails]);
  const inside = await kit.client.start(visit, { stay: 3_600_000 }, { id: "inside" });
  await kit.settle();
  const waiting = await kit.client.start(visit, { stay: 1 }, { id: "waiting" });
  await kit.settle();
  const failing = await kit.client.start(fails);
  await kit.settle();
  await kit.client.start(visit, { stay: 1 }, { id: "last" });
  await kit.settle();
  await waiting.cancel("no longer");
  await kit.settle();
  expect(visits).toEqual([]);
  await inside.cancel("out");
  await kit.advance("1s");
  expect(visits.map(({ id }) => id)).toEqual(["last"]);
  await expect(failing.result()).rejects.toThrow("inside");
  expect((await kit.client.get("one").describe()).customStatus).toMatchObject({ inUse: 0 });
});

test("the loser of a race releases its slot, and its instance continues", async () => {
  const one = limiter("one", { concurrency: 1 });
  const { visits, visit, register } = visitor(one);
  const racing = orchestration("racing", async (ctx) => {
    const first = await ctx.race({
      passed: one.run(ctx, () => ctx.sleep("1h")),
      late: ctx.sleep("5s"),
    });
    await ctx.sleep("1d");
    return first.key;
  });
  const kit = await kitWith([...register, racing]);
  const inside = await kit.client.start(racing);
  await kit.settle();
  const waiting = await kit.client.start(racing);
  await kit.settle();
  await kit.client.start(visit, { stay: 1_000 });
  await kit.advance("7s");
  expect(visits).toHaveLength(1);
  await kit.advance("2d");
  expect([await inside.result(), await waiting.result()]).toEqual(["late", "late"]);
});

test.each(["terminated", "deleted", "continued as new", "restarted"])(
  "the slot of an instance that was %s is released within a minute",
  async (how) => {
    const one = limiter("one", { concurrency: 1 });
    const { visits, visit, register } = visitor(one);
    const holder = orchestration("holder", async (ctx, isFirst: boolean): Promise<void> => {
      if (!isFirst) return ctx.sleep("1d");
      void one.run(ctx, () => ctx.sleep("1d"));
      await ctx.sleep("10s");
      return ctx.continueAsNew(false);
    });
    const kit = await kitWith([...register, holder]);
    if (how === "continued as new") await kit.client.start(holder, true);
    else await kit.client.start(visit, { stay: 86_400_000 }, { id: "holder" });
    await kit.settle();
    const waiting = await kit.client.start(visit, { stay: 1 });
    await kit.advance("5s");
    if (how === "terminated") await kit.client.get("holder").terminate("gone");
    if (how === "restarted") {
      const options = { id: "holder", onConflict: "terminateExisting" } as const;
      await kit.client.start(visit, { stay: 86_400_000 }, options);
    }
    if (how === "deleted") await kit.client.delete("holder", { force: true });
    await kit.advance("1m");
    expect(await waiting.result()).toBe("passed");
    expect(visits).toHaveLength(1);
  },
);

test.each(["terminated", "deleted", "cancelled"])(
  "a limiter that was %s starts again, and admits each waiting caller once",
  async (how) => {
    const one = limiter("one", { concurrency: 1 });
    const { visits, visit, register } = visitor(one);
    const kit = await kitWith(register);
    for (let n = 0; n < 4; n++) {
      await kit.client.start(visit, { stay: 1_000 }, { id: `v${n}` });
      await kit.settle();
    }
    const it = kit.client.get("one");
    if (how === "terminated") await it.terminate("by mistake");
    if (how === "deleted") await kit.client.delete("one", { force: true });
    if (how === "cancelled") await it.cancel("by mistake");
    await kit.advance("3m");
    expect(visits.map(({ id }) => id).sort()).toEqual(["v0", "v1", "v2", "v3"]);
    // The new instance does not know that v0 holds a slot. The callers that it admits keep the limit.
    expect(mostConcurrent(visits.filter(({ id }) => id !== "v0"))).toBe(1);
    expect((await it.describe()).customStatus).toMatchObject({ inUse: 0 });
  },
);

test("a request that was addressed to an earlier run of the limiter is ignored", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 10_000 }, { id: "v" });
  await kit.settle();
  const runId = (await kit.store.readInstance("v"))?.runId ?? "";
  const ticket = { token: "old", id: "v", runId, execution: 1, askedAt: 0 };
  const ask = { ticket, run: "an earlier run", rule: storedRule(two.rule), sentAt: 0 };
  await kit.client.raise("two", "ask", ask);
  await kit.advance("1s");
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inUse: 1 });
});

test("a limiter ignores events that are not valid messages", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 3; n++) await kit.client.start(visit, { stay: 10_000 });
  await kit.settle();
  for (const data of [undefined, null, 5, {}, { ticket: null }]) {
    await kit.client.raise("two", "ask", data);
    await kit.client.raise("two", "leave", data);
  }
  await kit.settle();
  expect(await kit.client.get("two").describe()).toMatchObject({
    status: "running",
    customStatus: { inUse: 2 },
  });
  await kit.advance("25s");
  expect(await kit.client.count({ name: "visit", status: "completed" })).toBe(3);
});

test("a malformed message does not change the rule, stop the limiter or fail a caller", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 3; n++) await kit.client.start(visit, { stay: 10_000 }, { id: `v${n}` });
  await kit.settle();
  const run = (await kit.store.readInstance("two"))?.runId ?? "";
  const far = Number.MAX_SAFE_INTEGER;
  for (const rule of [
    {},
    { atOnce: 0, rate: null },
    { atOnce: null, rate: {} },
    storedRule(two.rule),
  ]) {
    await kit.client.raise("two", "leave", { rule, sentAt: far });
    await kit.client.raise("two", "leave", { token: "t", id: "i", rule, sentAt: "later" });
    await kit.client.raise("two", "ask", { ticket: {}, run, rule, sentAt: far });
    await kit.client.raise("two", "ask", { ticket: { id: 5 }, run, rule, sentAt: 0 });
  }
  for (const data of [{ token: "t", id: "v0" }, { token: 5, id: "v0" }, { id: "v0" }]) {
    await kit.client.raise("two", "leave", data);
  }
  const asked = kit.client.get("two").ask("limiter.enter", { token: "t" });
  await expect(asked).rejects.toThrow("a limiter admits orchestrations only, by limiter.run");
  await kit.settle();
  const info = await kit.client.get("two").describe();
  expect(info.customStatus).toMatchObject({
    concurrency: 2,
    rate: null,
    inUse: 2,
    holders: ["v0", "v1"],
  });
  await kit.advance("25s");
  expect(await kit.client.count({ name: "visit", status: "completed" })).toBe(3);
});

test("the events of a limiter are internal", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 3; n++) await kit.client.start(visit, { stay: 10_000 }, { id: `v${n}` });
  await kit.settle();
  const limiterWaits = (await kit.client.get("two").describe()).waitingFor;
  const events = limiterWaits.filter((wait) => wait.kind === "event");
  expect(events.length).toBeGreaterThan(0);
  expect(events.every(({ internal }) => internal === true)).toBe(true);
  const callerWaits = (await kit.client.get("v2").describe()).waitingFor;
  expect(callerWaits.map(({ kind }) => kind)).toEqual(["ask", "timer"]);
});

test("an instance of another orchestration under the limiter's id is left alone, and the caller gets an error", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith([...register]);
  const other = await kit.client.start(visit, { stay: 20_000, key: "a" }, { id: "two" });
  for (const status of ["running", "completed"]) {
    await kit.settle();
    expect((await other.describe()).status).toBe(status);
    const refused = await kit.client.start(visit, { stay: 1 });
    await kit.advance("21s");
    await expect(refused.result()).rejects.toThrow('an instance of "visit" already has this id');
  }
  expect(await other.result()).toBe("passed");
  expect((await other.describe()).execution).toBe(1);
  // The request reached the instance, which does not serve it, and its asker no longer waits.
  const unread = (await other.unread()).items.filter(({ requestId }) => requestId === undefined);
  expect(unread).toEqual([]);
});

test("a paused limiter admits no caller until it is resumed", async () => {
  const { visits, visit, register } = visitor(two);
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 1_000 });
  await kit.advance("2s");
  await kit.client.get("two").pause("the provider is down");
  await kit.client.start(visit, { stay: 1_000 });
  await kit.advance("6h");
  expect(visits).toHaveLength(1);
  await kit.client.get("two").resume();
  await kit.advance("2s");
  expect(visits).toHaveLength(2);
});

test("a deploy with a larger limit takes effect with the next message to the limiter", async () => {
  const { visits, visit, register } = visitor(limiter("g", { concurrency: 1 }));
  const kit = await kitWith(register);
  for (let n = 0; n < 9; n++) await kit.client.start(visit, { stay: 10_000 });
  await kit.advance("5s");
  const wide = visitor(limiter("g", { concurrency: 8 }));
  await kit.deploy(wide.register);
  await kit.advance("6s");
  expect((await kit.client.get("g").describe()).customStatus).toMatchObject({
    concurrency: 8,
    inUse: 8,
  });
  await kit.advance("20s");
  expect([...visits, ...wide.visits]).toHaveLength(9);
});

test("a limiter with three hundred callers continues as new, and its history stays short", async () => {
  const { visits, visit, register } = visitor(limiter("busy", { concurrency: 7 }));
  const kit = await kitWith(register);
  for (let n = 0; n < 300; n++)
    await kit.client.start(visit, { stay: 50 + (n % 7) }, { id: `v${n}` });
  await kit.advance("20s");
  expect(new Set(visits.map(({ id }) => id)).size).toBe(300);
  expect(visits).toHaveLength(300);
  expect(mostConcurrent(visits)).toBe(7);
  const executions = await kit.client.get("busy").executions();
  expect(executions.length).toBeLessThanOrEqual(3);
  expect(executions.at(-1)?.execution).toBeGreaterThan(1);
});

test("a queue longer than the history limit is processed, and copied to few executions", async () => {
  const one = limiter("one", { concurrency: 1 });
  const { visits, visit, register } = visitor(one);
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 10_000 });
  await kit.settle();
  const run = (await kit.store.readInstance("one"))?.runId ?? "";
  for (let n = 0; n < WAITING; n++) {
    const ticket = { token: `t${n}`, id: "none", runId: "", execution: 1, askedAt: 0 };
    await kit.client.raise("one", "ask", { ticket, run, rule: storedRule(one.rule), sentAt: 0 });
  }
  const last = await kit.client.start(visit, { stay: 1_000 });
  await kit.advance("12s");
  expect(await last.result()).toBe("passed");
  expect(visits).toHaveLength(2);
  const executions = await kit.client.get("one").executions();
  expect(executions.at(-1)?.execution).toBeGreaterThan(1);
  expect(executions.at(-1)?.execution).toBeLessThan(isFull ? 100 : 12);
  const longest = Math.max(...executions.map(({ events }) => events));
  expect(longest).toBeLessThan(Math.max(WAITING, EVENTS_MAX) + 2_500);
});

test("one instance uses two nested limiters many times concurrently", async () => {
  const tenant = limiter("tenant", { concurrency: 2 });
  const all = limiter("all", { concurrency: 3 });
  const spans: { in: number; out: number; key: string }[] = [];
  const note = activity("note", async (span: (typeof spans)[number]) => void spans.push(span));
  const many = orchestration("many", (ctx) =>
    ctx.all(
      Array.from({ length: 12 }, (_, n) => {
        const key = n % 2 === 0 ? "a" : "b";
        const work = async () => {
          const from = ctx.now().getTime();
          await ctx.sleep("1s");
          await ctx.run(note, { in: from, out: ctx.now().getTime(), key });
        };
        return tenant.run(ctx, () => all.run(ctx, work), { key });
      }),
    ),
  );
  const kit = await kitWith([tenant, all, many, note]);
  const handle = await kit.client.start(many);
  await kit.advance("10s");
  await handle.result();
  expect(spans).toHaveLength(12);
  expect(mostConcurrent(spans)).toBe(3);
  expect(mostConcurrent(spans.filter(({ key }) => key === "a"))).toBe(2);
});

test("a crash before or after any write neither exceeds the limit nor loses a caller", async () => {
  const one = limiter("one", { concurrency: 1 });
  const three = orchestration("three", async (ctx) => {
    const pass = (n: number) =>
      one.run(ctx, async () => {
        const from = ctx.now().getTime();
        await ctx.sleep("1s");
        ctx.kv.set(`span ${n}`, { in: from, out: ctx.now().getTime() });
      });
    await ctx.all([pass(1), pass(2)]);
    return "passed";
  });
  const tried = await crashEverywhere(three, undefined, {
    register: [one, three],
    when: "both",
    check: async (kit, handle) => {
      const spans = [];
      for (const n of [1, 2]) {
        spans.push(await handle.kv.get<{ in: number; out: number }>(`span ${n}`));
      }
      expect(mostConcurrent(spans.filter((span) => span !== undefined))).toBe(1);
      const { customStatus } = await kit.client.get("one").describe();
      expect(customStatus).toMatchObject({ inUse: 0 });
    },
  });

  expect(tried.runs).toBeGreaterThan(30);
});

test("invalid options of limiter() and run() throw an error at the call", async () => {
  const given =
    (options: object, name = "g") =>
    () =>
      limiter(name, options);
  expect(given({})).toThrow('limiter "g": set concurrency, rate or both');
  expect(given({ concurrency: 0 })).toThrow(
    "concurrency must be a whole number from 1 to 1000; got 0",
  );
  expect(given({ concurrency: 1_001 })).toThrow("from 1 to 1000; got 1001");
  expect(given({ rate: { count: 1 } })).toThrow('limiter "g": rate.per');
  expect(given({ rate: { count: 10_001, per: "1m" } })).toThrow(
    "rate.count must be a whole number from 1 to 10000; got 10001",
  );
  expect(given({ rate: { count: 1, per: 0 } })).toThrow(
    'limiter "g": rate.per must be greater than zero; got 0',
  );
  expect(given({ rate: { count: 1, per: "1m", burst: 2 } })).toThrow('"burst"');
  expect(given({ atOnce: 1 })).toThrow('"atOnce"');
  expect(given({ concurrency: 1 }, "a::b")).toThrow("reserved");
  expect(given({ concurrency: 1 }, "n".repeat(101))).toThrow("100 bytes");
  expect(() => two.idOf("")).toThrow("1 to 155 bytes");
  expect(() => two.idOf("k".repeat(156))).toThrow("1 to 155 bytes");
  const uses = orchestration("uses", async (ctx, options: object) =>
    two.run(ctx, () => "in", options),
  );
  const kit = await kitWith([two, uses]);
  for (const [options, message] of [
    [{ key: 5 }, 'limiter "two": key must be a string of 1 to 155 bytes in UTF-8; got 5'],
    [{ timeout: 0 }, 'limiter "two": timeout must be greater than zero; got 0'],
    [{ timeout: "soon" }, 'limiter "two": timeout'],
    [{ wait: "1s" }, '"wait"'],
  ] as const) {
    const handle = await kit.client.start(uses, options);
    await kit.settle();
    await expect(handle.result()).rejects.toThrow(message);
  }
  expect(await kit.client.count({ name: "two" })).toBe(0);
});

test("starting a limiter by its name fails, and the error names the call to use instead", async () => {
  const kit = await kitWith([two]);
  const handle = await kit.client.start("two");
  await kit.settle();
  const { error } = await handle.describe();
  expect(error?.failure).toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      'Invalid input of "two": a limiter is started by its first caller, with limiter.run(ctx, work), not by its name.',
  });
  expect(error?.failure.stack).not.toMatch(/^\s+at /m);
});
