// The programs whose histories are recorded, one per feature and outcome.
//   HP1. A program with a recorded history is never changed: it represents production code of the time when that version
//        of Perdure wrote the history. A new feature is a new program, at the end.
//   HP2. A program must not depend on the machine, its time zone or its language.

import {
  activity,
  event,
  NonRetryableError,
  orchestration,
  type Orchestration,
} from "../../src/index.ts";
import { flow } from "../../src/flow/index.ts";
import type { TestEnvironment, TestEnvironmentOptions } from "../../src/testing/index.ts";
import { OUR_PROGRAMS } from "./our-programs.ts";
import { CALLBACK_PROGRAMS } from "./callback-programs.ts";
import { REQUEST_PROGRAMS } from "./request-programs.ts";
import { REPAIR_PROGRAMS } from "./repair-programs.ts";
import { SCHEMA_PROGRAMS } from "./schema-programs.ts";

type Register = TestEnvironmentOptions["register"];
/** Every execution of every instance of a program is recorded. */
export interface Program {
  readonly name: string;
  readonly register: Register;
  readonly run: (test: TestEnvironment) => Promise<unknown>;
}

const double = activity("double", async (value: number) => value * 2);
const flaky = activity("flaky", async (value: number, { attempt }) => {
  if (attempt < 3) throw new Error(`attempt ${attempt} fails`);
  return value;
});
const refuse = activity("refuse", async (why: string) => {
  throw new NonRetryableError(why);
});
const echo = activity("echo", async (value: unknown) => value);
const undo = activity("undo", async (what: string) => what);
const said = event<number>("said");
const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);

const activitiesMain = orchestration("activities", async (ctx) => {
  const retry = { maxAttempts: 5, backoff: { kind: "fixed", base: "1s" } } as const;
  const first = await ctx.run(flaky, 1, { retry, timeout: "10s", scheduleToClose: "1h" });
  const both = await ctx.all([ctx.run(double, first), ctx.run(double, 2, { priority: 1 })]);
  const refused = await ctx.run(refuse, "no").catch((error: unknown) => String(error));
  const lost = ctx.run(double, 9);
  lost.cancel("not needed");
  await quietly(lost);
  return { both, refused };
});
const failing = orchestration("failing", async (ctx) => ctx.run(refuse, "it is broken"));
const timersMain = orchestration("timers", async (ctx) => {
  await ctx.sleep("1h");
  await ctx.sleep(new Date(Date.UTC(2026, 0, 2)));
  const { key } = await ctx.race({ short: ctx.sleep("1m"), long: ctx.sleep("40d") });
  return [key, ctx.now().toISOString(), ctx.uuid(), ctx.random()];
});
const eventsMain = orchestration("events", async (ctx) => {
  const first = await ctx.waitFor(said, { details: { why: "first" } });
  const now = await ctx.race({
    now: ctx.waitFor("alarm", { since: "now" }),
    late: ctx.sleep("1h"),
  });
  return [first, now.key, await ctx.waitFor(said)];
});
const child = orchestration("child", async (ctx, value: number) => {
  if (value < 0) throw new Error("below zero");
  return ctx.run(double, value);
});
const waiting = orchestration("waiting", async (ctx) => ctx.waitFor("never"));
const childrenMain = orchestration("children", async (ctx) => {
  void ctx.startDetached(child, 5, { id: "detached" });
  const values = await ctx.all([ctx.call(child, 1), ctx.call(child, 2, { id: "named" })]);
  const failed = await ctx.call(child, -1).catch((error: unknown) => String(error));
  const cancelled = ctx.call(waiting, undefined, { id: "cancelled-child" });
  await ctx.sleep("1s");
  cancelled.cancel("enough");
  await quietly(cancelled);
  return [...values, failed];
});
const stepsMain = orchestration("steps", async (ctx) => {
  const one = await ctx.step("one", () => 1);
  const retry = { maxAttempts: 3, backoff: { kind: "fixed", base: "1s" } } as const;
  const two = await ctx.step(
    "two",
    ({ attempt }) => {
      if (attempt < 3) throw new Error(`step attempt ${attempt}`);
      return one + 1;
    },
    { retry },
  );
  const bad = await ctx
    .step("bad", () => {
      throw new NonRetryableError("bad");
    })
    .catch((error: unknown) => String(error));
  const open = ctx.step("open", ({ signal }) => endOf(signal));
  await ctx.sleep("1s");
  open.cancel("no longer");
  await quietly(open);
  return [one, two, bad];
});
const endOf = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve("ended");
    else signal.addEventListener("abort", () => resolve("ended"), { once: true });
  });
const stateMain = orchestration("state", async (ctx) => {
  ctx.setStatus({ phase: 1 });
  ctx.kv.set("a", 1);
  ctx.kv.set("b", new Map([["x", 1n]]));
  ctx.kv.delete("a");
  ctx.setAttributes({ customer: "42" });
  const isNew = ctx.patched("second-charge");
  await ctx.sleep("1s");
  ctx.kv.clear();
  ctx.setStatus(null);
  return isNew;
});
const rounds = orchestration("rounds", async (ctx, n: number): Promise<number> => {
  ctx.kv.set("round", n);
  await ctx.waitFor(said);
  return n === 3 ? n : ctx.continueAsNew(n + 1);
});
const compensated = orchestration("compensated", async (ctx) => {
  ctx.compensate(() => ctx.run(undo, "hotel"));
  ctx.compensate(() => ctx.run(undo, "flight"));
  await ctx.run(double, 1);
  await ctx.all([
    ctx.sleep("9d"),
    ctx.waitFor("go"),
    ctx.call(waiting, undefined, { id: "guest" }),
  ]);
});
const valuesMain = orchestration("values", async (ctx) =>
  ctx.run(echo, {
    date: new Date(Date.UTC(2026, 0, 1)),
    big: 2n ** 70n,
    map: new Map([["k", new Set([1, -0, NaN])]]),
    bytes: new Uint8Array([1, 2, 3]),
    text: "ÄÖÜ ß İı 日本語 \u2028 \ud83d\ude00",
    error: new RangeError("kept"),
    nothing: undefined,
  }),
);
/** Values that depend on the host's language or time zone must not reach a command (HP2). */
const sorted = orchestration("sorted", async (ctx) => {
  const words = ["z", "ä", "a", "Z", "i", "I", "ı"].sort();
  const values: string[] = [];
  for (const word of words) values.push(String(await ctx.run(echo, word)));
  return [values.join(""), new Date(ctx.now()).toISOString()];
});
const scoped = orchestration("scoped", async (ctx) => {
  const first = await ctx.any([ctx.run(refuse, "one"), ctx.run(double, 4)]);
  const settled = await ctx.allSettled([ctx.run(double, 5), ctx.run(refuse, "two")]);
  const inner = await ctx.scope(async () => ctx.run(double, first));
  return [settled.map(({ status }) => status), inner];
});
const order = flow<number>("order")
  .then(double)
  .fork({ mail: (f) => f.then("mail", (value) => value + 1), stock: (f) => f.then(double) })
  .delay("cool", "5m")
  .then("merge", ({ mail, stock }) => mail + stock)
  .waitFor(said, { timeout: "2d", onTimeout: "fail" })
  .build();
const longActivities = orchestration("long-activities", async (ctx) => {
  let sum = 0;
  for (let i = 0; i < 1_000; i++) sum += await ctx.run(double, i);
  return sum;
});
const longMixture = orchestration("long-mixture", async (ctx) => {
  let sum = 0;
  for (let i = 0; i < 250; i++) {
    const [a, b] = await ctx.all([ctx.run(double, i), ctx.step("half", () => i / 2)]);
    await ctx.sleep("1s");
    ctx.setStatus(i);
    ctx.kv.set("sum", (sum += a + b));
  }
  return sum;
});
/** Random values, times and ids go into commands, which replay compares. They must not change. */
const chance = orchestration("chance", async (ctx) => {
  for (let i = 0; i < 5; i++) {
    await ctx.run(echo, [ctx.uuid(), ctx.random(), ctx.now().getTime()]);
    await ctx.sleep("1s");
  }
  const [own] = await ctx.all([ctx.scope(async () => ctx.uuid()), ctx.step("s", () => 1)]);
  const { instanceId, executionId, version } = ctx.info;
  return ctx.run(echo, { own, instanceId, executionId, version });
});
const whoAmI = orchestration("who-am-i", async (ctx, name: string) => {
  const { instanceId, parent } = ctx.info;
  return ctx.run(echo, { name, instanceId, parent: parent?.id });
});
const family = orchestration("family", async (ctx) => {
  const kept = ctx.call(waiting, undefined, { id: "kept", onParentClose: "abandon" });
  const names = await ctx.all([ctx.call(whoAmI, "one"), ctx.call(whoAmI, "two")]);
  await ctx.run(echo, names);
  const first = await ctx.race({ kept, late: ctx.sleep("1m") });
  return first.key;
});
const routed = orchestration("routed", async (ctx) => {
  const session = ctx.info.instanceId;
  await ctx.all([ctx.run(double, 1, { session, priority: 2 }), ctx.run(double, 2, { session })]);
  const mapped = ctx.run(double, 3).map((value) => value + 1);
  return ctx.run(double, await mapped);
});
const streamed = orchestration("streamed", async (ctx) => {
  let sum = 0;
  for await (const value of ctx.events(said)) {
    sum += value;
    await ctx.run(double, sum);
    if (sum > 5) break;
  }
  const left = await ctx.race({ more: ctx.waitFor(said), late: ctx.sleep("1h") });
  return [sum, left.key];
});
const shielded = orchestration("shielded", async (ctx) => {
  try {
    await ctx.waitFor("never");
  } finally {
    await ctx.shield(async () => {
      await ctx.run(undo, "inside");
      await ctx.sleep("1m");
      await ctx.run(undo, String(ctx.info.cancelRequested));
    });
  }
});
const nested = orchestration("nested", async (ctx) => {
  const branch = (n: number) => async (): Promise<number> => {
    const half = await ctx.run(double, n);
    await ctx.sleep(n * 1_000);
    return half + (await ctx.run(double, half));
  };
  const won = await ctx.race({ slow: ctx.scope(branch(5)), quick: ctx.scope(branch(1)) });
  const all = await ctx.all([ctx.scope(branch(2)), ctx.scope(branch(3))]);
  const none = await ctx.any([ctx.run(refuse, "a"), ctx.run(refuse, "b")]).catch(String);
  return ctx.run(echo, [won.key, all, none]);
});
const timeouts = orchestration("timeouts", async (ctx) => {
  const late = await ctx.run(stuck, 0, { timeout: "1s", attempts: 2 }).catch(String);
  const closed = await ctx.run(stuck, 0, { scheduleToClose: "5s" }).catch(String);
  return ctx.run(echo, [late, closed]);
});
const stuck = activity("stuck", (_: number, { signal }) => endOf(signal));

/** A program that starts one instance and waits for its end, with any outcome. */
function ending(main: Orchestration<undefined, unknown>, ...others: Register): Program {
  const run = async (t: TestEnvironment): Promise<void> => {
    await quietly((await t.start(main, undefined, { id: main.name })).result());
  };
  return { name: main.name, register: [main, ...others], run };
}

export const PROGRAMS: readonly Program[] = [
  ending(activitiesMain, double, flaky, refuse),
  ending(failing, refuse),
  ending(timersMain),
  {
    name: "events",
    register: [eventsMain],
    async run(t) {
      const handle = await t.start(eventsMain, undefined, { id: "events" });
      t.raiseAt(handle, said, 1, "1m");
      t.raiseAt(handle, said, 2, "2m");
      t.raiseAt(handle, "unread", null, "3m");
      await handle.result();
    },
  },
  ending(childrenMain, child, waiting, double),
  ending(stepsMain),
  ending(stateMain),
  {
    name: "continue-as-new",
    register: [rounds],
    async run(t) {
      const handle = await t.start(rounds, 1, { id: "rounds" });
      for (const n of [1, 2, 3]) t.raiseAt(handle, said, n, n * 1_000);
      await handle.result();
    },
  },
  {
    name: "cancelled",
    register: [compensated, waiting, double, undo],
    async run(t) {
      const handle = await t.start(compensated, undefined, { id: "cancelled" });
      t.at("1h", (client) => client.get(handle.id).cancel({ reason: "changed", by: "ada" }));
      await quietly(handle.result());
    },
  },
  {
    name: "terminated",
    register: [waiting],
    async run(t) {
      const handle = await t.start(waiting, undefined, { id: "terminated" });
      t.at("1h", (client) => client.get(handle.id).terminate("enough"));
      await quietly(handle.result());
    },
  },
  {
    name: "live",
    register: [eventsMain],
    run: async (t) => {
      await t.start(eventsMain, undefined, { id: "live" });
      await t.settle();
    },
  },
  ending(valuesMain, echo),
  ending(sorted, echo),
  ending(scoped, double, refuse),
  {
    name: "flow",
    register: [order],
    async run(t) {
      const handle = await t.start(order, 3, { id: "flow" });
      t.raiseAt(handle, said, 7, "1h");
      await handle.result();
    },
  },
  ending(longActivities, double),
  ending(longMixture, double),
  ending(chance, echo),
  ending(family, whoAmI, waiting, echo),
  ending(routed, double),
  {
    name: "streamed",
    register: [streamed, double],
    async run(t) {
      const handle = await t.start(streamed, undefined, { id: "streamed" });
      for (const n of [1, 2, 3, 4]) t.raiseAt(handle, said, n, n * 1_000);
      await handle.result();
    },
  },
  {
    name: "shielded",
    register: [shielded, undo],
    async run(t) {
      const handle = await t.start(shielded, undefined, { id: "shielded" });
      t.at("1h", (client) => client.get(handle.id).cancel("changed"));
      await quietly(handle.result());
    },
  },
  ending(nested, double, refuse, echo),
  ending(timeouts, stuck, echo),
  ...OUR_PROGRAMS,
  ...REQUEST_PROGRAMS,
  ...CALLBACK_PROGRAMS,
  ...SCHEMA_PROGRAMS,
  ...REPAIR_PROGRAMS,
];
