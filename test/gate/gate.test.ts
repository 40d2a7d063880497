// Gates: never more inside or in a time than the rule says, and nobody left outside for good, whatever happens.

import { expect, onTestFinished, test } from "vitest";
import { gate, type Gate, type GateStatus } from "../../src/gate/index.ts";
import { activity, orchestration } from "../../src/index.ts";
import { crashEverywhere, TestEnvironment } from "../../src/testing/index.ts";

const two = gate("two", { atOnce: 2 });
const isFull = process.env["PERDURE_FULL"] === "1";
/** Full: more than an execution may be long (EVENTS_MAX of loop.ts). */
const WAITING = isFull ? 35_000 : 1_500;

/** Passes a gate, stays inside for some time, and notes when it entered and left. */
function visitor(through: Gate) {
  const visits: { id: string; in: number; out: number }[] = [];
  const note = activity("note", async (visit: (typeof visits)[number]) => void visits.push(visit));
  interface Visit {
    readonly stay: number;
    readonly key?: string;
    readonly wait?: string;
  }
  const visit = orchestration("visit", async (ctx, { stay, ...options }: Visit) => {
    const span = await through.run(
      ctx,
      async () => {
        const from = ctx.now().getTime();
        await ctx.sleep(stay);
        return { in: from, out: ctx.now().getTime() };
      },
      options as Parameters<Gate["run"]>[2],
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

/** The most that were inside at one moment. */
function mostAtOnce(visits: readonly { in: number; out: number }[]): number {
  const insideAt = (time: number) => visits.filter((v) => v.in <= time && time < v.out).length;
  return Math.max(...visits.map((visit) => insideAt(visit.in)));
}

test("twenty callers pass two at a time, in the order in which they asked", async () => {
  const { visits, visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 20; n++) {
    await kit.client.start(visit, { stay: 1_000 }, { id: `v${n}` });
    await kit.settle();
  }
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({
    atOnce: 2,
    inside: 2,
    ids: ["v0", "v1"],
  } satisfies Partial<GateStatus>);
  await kit.advance("11s");
  expect(visits.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => `v${n}`));
  expect(mostAtOnce(visits)).toBe(2);
});

test("within any ten seconds five enter, however long they stay", async () => {
  const { visits, visit, register } = visitor(gate("slow", { rate: { count: 5, per: "10s" } }));
  const kit = await kitWith(register);
  for (let n = 0; n < 23; n++) {
    await kit.client.start(visit, { stay: n % 3 === 0 ? 60_000 : 1 }, { id: `v${n}` });
    await kit.advance("700ms");
  }
  const waiting = (await kit.client.get("slow").describe()).customStatus as GateStatus;
  expect(waiting).toMatchObject({ atOnce: null, inside: 0, rate: { count: 5, perMs: 10_000 } });
  expect(waiting.nextAt?.getTime()).toBeGreaterThan(kit.now.getTime());
  await kit.advance("2m");
  const entered = visits.map((visit) => visit.in).sort((a, b) => a - b);
  expect(entered).toHaveLength(23);
  for (const [index, time] of entered.entries()) {
    const fifthBefore = entered[index - 5];
    if (fifthBefore !== undefined) expect(time - fifthBefore).toBeGreaterThanOrEqual(10_000);
  }
  expect((entered.at(-1) ?? 0) - (entered[0] ?? 0)).toBeLessThan(42_000); // and no slower than that
  expect(kit.calls("slow/leave")).toEqual([]); // with a rate alone nobody waits for that
});

test("both together: three a minute, and one at once", async () => {
  const both = gate("both", { atOnce: 1, rate: { count: 3, per: "1m" } });
  const { visits, visit, register } = visitor(both);
  const kit = await kitWith(register);
  for (let n = 0; n < 7; n++) await kit.client.start(visit, { stay: 5_000 });
  await kit.advance("5m");
  expect(mostAtOnce(visits)).toBe(1);
  const first = visits[0]?.in ?? 0;
  expect(visits.map((visit) => Math.round((visit.in - first) / 1_000))).toEqual([
    0, 5, 10, 60, 65, 70, 120,
  ]);
});

test("each key has a line of its own, whose gate begins with the first and ends when nobody asks", async () => {
  const { visits, visit, register } = visitor(gate("tenant", { atOnce: 1 }));
  const kit = await kitWith(register);
  for (const key of ["a", "b", "c"]) {
    for (let n = 0; n < 2; n++) await kit.client.start(visit, { stay: 1_000, key });
  }
  await kit.advance("3s");
  expect(visits).toHaveLength(6);
  expect(mostAtOnce(visits)).toBe(3);
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

test("a gate remembers its rate for as long as that takes, though nobody asks meanwhile", async () => {
  const { visits, visit, register } = visitor(gate("daily", { rate: { count: 1, per: "1d" } }));
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 1 });
  await kit.advance("23h");
  await kit.client.start(visit, { stay: 1 });
  await kit.advance("50m");
  expect(visits).toHaveLength(1);
  await kit.advance("20m");
  expect(visits).toHaveLength(2);
});

test("who waits too long is told so and passed over", async () => {
  const { visits, visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 2; n++) await kit.client.start(visit, { stay: 90_000 });
  await kit.settle();
  const late = await kit.client.start(visit, { stay: 1_000, wait: "10s" });
  const next = await kit.client.start(visit, { stay: 1_000 }, { id: "next" });
  await kit.advance("11s");
  await expect(late.result()).rejects.toMatchObject({
    message: expect.stringContaining('Gate "two" did not open within 10000 ms'),
  });
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inside: 2 });
  await kit.advance("100s");
  expect(await next.result()).toBe("passed");
  expect(visits).toHaveLength(3);
});

test("a caller can tell a wait that was too long from a failure of the work, by its code", async () => {
  const outer = orchestration("outer", async (ctx) => {
    const stays = two.run(ctx, () => ctx.sleep("1h"));
    const stays2 = two.run(ctx, () => ctx.sleep("1h"));
    const outcome = await two
      .run(ctx, () => "in", { wait: "5s" })
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

test("cancelled in the line or inside, or failed inside: the place is free at once", async () => {
  const one = gate("one", { atOnce: 1 });
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
  expect((await kit.client.get("one").describe()).customStatus).toMatchObject({ inside: 0 });
});

test("the loser of a race gives up its place, and its instance goes on", async () => {
  const one = gate("one", { atOnce: 1 });
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

test.each(["terminated", "deleted", "continued as new", "begun again"])(
  "an instance that was %s inside has its place given back within a minute",
  async (how) => {
    const one = gate("one", { atOnce: 1 });
    const { visits, visit, register } = visitor(one);
    const rude = orchestration("rude", async (ctx, isFirst: boolean): Promise<void> => {
      if (!isFirst) return ctx.sleep("1d");
      void one.run(ctx, () => ctx.sleep("1d"));
      await ctx.sleep("10s");
      return ctx.continueAsNew(false);
    });
    const kit = await kitWith([...register, rude]);
    if (how === "continued as new") await kit.client.start(rude, true);
    else await kit.client.start(visit, { stay: 86_400_000 }, { id: "rude" });
    await kit.settle();
    const waiting = await kit.client.start(visit, { stay: 1 });
    await kit.advance("5s");
    if (how === "terminated") await kit.client.get("rude").terminate("gone");
    if (how === "begun again") {
      const options = { id: "rude", onConflict: "terminateExisting" } as const;
      await kit.client.start(visit, { stay: 86_400_000 }, options);
    }
    if (how === "deleted") await kit.client.delete("rude", { force: true });
    await kit.advance("1m");
    expect(await waiting.result()).toBe("passed");
    expect(visits).toHaveLength(1);
  },
);

test.each(["terminated", "deleted", "cancelled"])(
  "a gate that was %s begins again with those who waited at it, each once",
  async (how) => {
    const one = gate("one", { atOnce: 1 });
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
    expect(mostAtOnce(visits)).toBe(1);
    expect((await it.describe()).customStatus).toMatchObject({ inside: 0 });
  },
);

test("a question that was meant for an earlier life of the gate is not heard", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 10_000 }, { id: "v" });
  await kit.settle();
  const runId = (await kit.store.readInstance("v"))?.runId ?? "";
  const ticket = { token: "of then", id: "v", runId, execution: 1, askedAt: 0 };
  const ask = { ticket, run: "a life before", rule: two.rule, sentAt: 0 };
  await kit.client.raise("two", "ask", ask);
  await kit.advance("1s");
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inside: 1 });
});

test("an event that is no question disturbs no gate", async () => {
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
    customStatus: { inside: 2 },
  });
  await kit.advance("25s");
  expect(await kit.client.count({ name: "visit", status: "completed" })).toBe(3);
});

test("a malformed message changes no rule, stops no gate and fails no caller", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 3; n++) await kit.client.start(visit, { stay: 10_000 }, { id: `v${n}` });
  await kit.settle();
  const run = (await kit.store.readInstance("two"))?.runId ?? "";
  const far = Number.MAX_SAFE_INTEGER;
  for (const rule of [{}, { atOnce: 0, rate: null }, { atOnce: null, rate: {} }, two.rule]) {
    await kit.client.raise("two", "leave", { rule, sentAt: far });
    await kit.client.raise("two", "leave", { token: "t", id: "i", rule, sentAt: "later" });
    await kit.client.raise("two", "ask", { ticket: {}, run, rule, sentAt: far });
    await kit.client.raise("two", "ask", { ticket: { id: 5 }, run, rule, sentAt: 0 });
  }
  const { waitingFor } = await kit.client.get("v2").describe();
  const admission = waitingFor.find((wait) => wait.kind === "event")?.name ?? "";
  for (const data of [undefined, null, 5, {}, { holds: "yes" }]) {
    await kit.client.raise("v2", admission, data);
  }
  await kit.settle();
  const info = await kit.client.get("two").describe();
  expect(info.customStatus).toMatchObject({ atOnce: 2, rate: null, inside: 2, ids: ["v0", "v1"] });
  await kit.advance("25s");
  expect(await kit.client.count({ name: "visit", status: "completed" })).toBe(3);
});

test("the events of a gate are internal: nothing offers to raise them", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith(register);
  for (let n = 0; n < 3; n++) await kit.client.start(visit, { stay: 10_000 }, { id: `v${n}` });
  await kit.settle();
  for (const id of ["two", "v2"]) {
    const { waitingFor } = await kit.client.get(id).describe();
    const events = waitingFor.filter((wait) => wait.kind === "event");
    expect(events.length).toBeGreaterThan(0);
    expect(events.every(({ internal }) => internal === true)).toBe(true);
  }
});

test("an id that is somebody else's is left alone, running or ended, and whoever asks there is told", async () => {
  const { visit, register } = visitor(two);
  const kit = await kitWith([...register]);
  const other = await kit.client.start(visit, { stay: 1_000, key: "a" }, { id: "two" });
  for (const status of ["running", "completed"]) {
    await kit.settle();
    expect((await other.describe()).status).toBe(status);
    const refused = await kit.client.start(visit, { stay: 1 });
    await kit.advance("5s");
    await expect(refused.result()).rejects.toThrow("an instance of visit has its id");
  }
  expect(await other.result()).toBe("passed");
});

test("a pause of the gate keeps everybody outside until it is resumed", async () => {
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

test("a deploy with another rule widens a gate that is in use, with the first who leaves", async () => {
  const { visits, visit, register } = visitor(gate("g", { atOnce: 1 }));
  const kit = await kitWith(register);
  for (let n = 0; n < 9; n++) await kit.client.start(visit, { stay: 10_000 });
  await kit.advance("5s");
  const wide = visitor(gate("g", { atOnce: 8 }));
  await kit.deploy(wide.register);
  await kit.advance("6s");
  expect((await kit.client.get("g").describe()).customStatus).toMatchObject({
    atOnce: 8,
    inside: 8,
  });
  await kit.advance("20s");
  expect([...visits, ...wide.visits]).toHaveLength(9);
});

test("three hundred callers pass a gate that continues as new, and its history stays short", async () => {
  const { visits, visit, register } = visitor(gate("busy", { atOnce: 7 }));
  const kit = await kitWith(register);
  for (let n = 0; n < 300; n++)
    await kit.client.start(visit, { stay: 50 + (n % 7) }, { id: `v${n}` });
  await kit.advance("20s");
  expect(new Set(visits.map(({ id }) => id)).size).toBe(300);
  expect(visits).toHaveLength(300);
  expect(mostAtOnce(visits)).toBe(7);
  const executions = await kit.client.get("busy").executions();
  expect(executions.length).toBeLessThanOrEqual(3);
  expect(executions.at(-1)?.execution).toBeGreaterThan(1);
});

test("a line longer than an execution's history is worked off, and carried along no oftener than it must", async () => {
  const one = gate("one", { atOnce: 1 });
  const { visits, visit, register } = visitor(one);
  const kit = await kitWith(register);
  await kit.client.start(visit, { stay: 10_000 });
  await kit.settle();
  const run = (await kit.store.readInstance("one"))?.runId ?? "";
  for (let n = 0; n < WAITING; n++) {
    const ticket = { token: `t${n}`, id: "nobody", runId: "", execution: 1, askedAt: 0 };
    await kit.client.raise("one", "ask", { ticket, run, rule: one.rule, sentAt: 0 });
  }
  const last = await kit.client.start(visit, { stay: 1_000 });
  await kit.advance("12s");
  expect(await last.result()).toBe("passed");
  expect(visits).toHaveLength(2);
  const executions = await kit.client.get("one").executions();
  expect(executions.at(-1)?.execution).toBeGreaterThan(1);
  expect(executions.at(-1)?.execution).toBeLessThan(isFull ? 100 : 12);
  expect(Math.max(...executions.map(({ events }) => events))).toBeLessThan(WAITING + 2_500);
});

test("one instance passes two gates, one inside the other, many times at once", async () => {
  const tenant = gate("tenant", { atOnce: 2 });
  const all = gate("all", { atOnce: 3 });
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
  expect(mostAtOnce(spans)).toBe(3);
  expect(mostAtOnce(spans.filter(({ key }) => key === "a"))).toBe(2);
});

test("a process that dies after any write, or before it, lets nobody in too many and leaves nobody outside", async () => {
  const one = gate("one", { atOnce: 1 });
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
      expect(mostAtOnce(spans.filter((span) => span !== undefined))).toBe(1);
      const { customStatus } = await kit.client.get("one").describe();
      expect(customStatus).toMatchObject({ inside: 0 });
    },
  });

  expect(tried.runs).toBeGreaterThan(40);
});

test("what is no gate, and no passage, is refused where it is written", async () => {
  const given =
    (options: object, name = "g") =>
    () =>
      gate(name, options);
  expect(given({})).toThrow('gate "g" needs atOnce, rate or both');
  expect(given({ atOnce: 0 })).toThrow("atOnce");
  expect(given({ atOnce: 1_001 })).toThrow("at most 1000, not 1001");
  expect(given({ rate: { count: 1 } })).toThrow("per of gate");
  expect(given({ rate: { count: 10_001, per: "1m" } })).toThrow("at most 10000");
  expect(given({ rate: { count: 1, per: 0 } })).toThrow("longer than nothing");
  expect(given({ rate: { count: 1, per: "1m", burst: 2 } })).toThrow('no option "burst"');
  expect(given({ atonce: 1 })).toThrow('no option "atonce"');
  expect(given({ atOnce: 1 }, "a::b")).toThrow("reserved");
  expect(given({ atOnce: 1 }, "n".repeat(101))).toThrow("100 bytes");
  expect(() => two.idOf("")).toThrow("1 to 155 bytes");
  expect(() => two.idOf("k".repeat(156))).toThrow("1 to 155 bytes");
  const passes = orchestration("passes", async (ctx, options: object) =>
    two.run(ctx, () => "in", options),
  );
  const kit = await kitWith([two, passes]);
  for (const [options, message] of [
    [{ key: 5 }, "A key of gate"],
    [{ wait: 0 }, "longer than nothing"],
    [{ wait: "soon" }, "is not a duration"],
    [{ keys: "a" }, 'no option "keys"'],
  ] as const) {
    const handle = await kit.client.start(passes, options);
    await kit.settle();
    await expect(handle.result()).rejects.toThrow(message);
  }
  expect(await kit.client.count({ name: "two" })).toBe(0);
});

test("a gate that is started by its name fails with what to call instead", async () => {
  const kit = await kitWith([two]);
  const handle = await kit.client.start("two");
  await kit.settle();
  const { error } = await handle.describe();
  expect(error?.failure).toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      'Invalid input of "two": a gate is started by its first caller, with gate.run(ctx, work), not by its name.',
  });
  expect(error?.failure.stack).not.toMatch(/^\s+at /m);
});
