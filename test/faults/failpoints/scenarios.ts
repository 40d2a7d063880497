// The core features, one scenario each. A store failure must not change the outcome of a scenario.
//   - No outcome contains a count of activity runs: a crash may add a run (P3).

import {
  activity,
  event,
  job,
  NonRetryableError,
  orchestration,
  type Client,
  type Handle,
} from "../../../src/index.ts";
import { flow } from "../../../src/flow/index.ts";
import type {
  FailureScenario,
  TestEnvironment,
  TestEnvironmentOptions,
} from "../../../src/testing/index.ts";
import { auditRewound, rewound } from "./rewound.ts";
import { answer, auditOf, streamed, studio } from "./streamed.ts";

type Store = TestEnvironmentOptions["store"];

const work = activity("work", async (value: number) => value * 2);
const flaky = activity("flaky", async (value: number, { attempt }) => {
  if (attempt < 3) throw new Error(`attempt ${attempt} fails`);
  return value + 1;
});
const said = event<number>("said");

const activities = orchestration("activities", async (ctx, from: number) => {
  const retry = { maxAttempts: 5, backoff: { kind: "fixed", base: "1s" } } as const;
  const first = await ctx.run(flaky, from, { retry });
  const both = await ctx.all([ctx.run(work, first), ctx.run(work, first + 1)]);
  ctx.setStatus({ both });
  ctx.kv.set("sum", both[0] + both[1]);
  return both;
});
const timers = orchestration("timers", async (ctx) => {
  await ctx.sleep("1h");
  const { key } = await ctx.race({ short: ctx.sleep("1m"), long: ctx.sleep("2d") });
  return [key, await ctx.run(work, 1)];
});
const events = orchestration("events", async (ctx) => {
  const heard: number[] = [];
  while (heard.length < 3) heard.push(await ctx.waitFor(said));
  return heard;
});
const child = orchestration("child", async (ctx, value: number) => {
  if (value < 0) throw new Error("below zero");
  return ctx.run(work, value);
});
const children = orchestration("children", async (ctx) => {
  void ctx.startDetached(child, 50, { id: "detached" });
  const values = await ctx.all([ctx.call(child, 1), ctx.call(child, 2, { id: "named" })]);
  const failed = await ctx.call(child, -1).catch((error: unknown) => String(error));
  return [...values, failed];
});
const rounds = orchestration(
  "rounds",
  async (ctx, round: { n: number; sum: number }): Promise<number> => {
    const sum = round.sum + (await ctx.run(work, round.n)) + (await ctx.waitFor(said));
    return round.n === 3 ? sum : ctx.continueAsNew({ n: round.n + 1, sum });
  },
);
/** Tokens by instance and name. A second attempt has another token of the same call. */
const tokens = new Map<string, string>();
const publish = activity("publish", async (token: string, { info }) => {
  tokens.set(`${info.instanceId} publish`, token);
});
const render = activity("render", async (_: undefined, { info, completeLater }) => {
  tokens.set(`${info.instanceId} render`, completeLater().token);
});
const callback = orchestration("callback", async (ctx) => {
  const paid = ctx.callback<number>("paid", { timeout: "2d" });
  await ctx.run(publish, paid.token);
  const late = await ctx.callback<number>("late", { timeout: "1h" });
  return [await paid, late, await ctx.run(render, undefined, { timeout: "1d", attempts: 3 })];
});
const undo = activity("undo", async (what: string) => what);
const cancelled = orchestration("cancelled", async (ctx) => {
  ctx.compensate(() => ctx.run(undo, "hotel"));
  ctx.compensate(() => ctx.run(undo, "flight"));
  await ctx.run(work, 1);
  await ctx.all([ctx.sleep("9d"), ctx.call(events, undefined, { id: "waiting-child" })]);
});
const steps = orchestration("steps", async (ctx) => {
  const one = await ctx.step("one", () => 1);
  const two = await ctx.step(
    "two",
    ({ attempt }) => {
      if (attempt === 1) throw new Error("not at once");
      return one + 1;
    },
    { retry: { maxAttempts: 4, backoff: { kind: "fixed", base: "2s" } } },
  );
  const pair = await ctx.all([ctx.step("a", () => 10), ctx.step("b", () => 20)]);
  return [one, two, ...pair, await ctx.run(work, two)];
});
const order = flow<number>("order")
  .then(work)
  .fork({ mail: (f) => f.then("mail", (value) => value + 1), stock: (f) => f.then(work) })
  .delay("cool", "5m")
  .then("merge", ({ mail, stock }) => mail + stock)
  .waitFor(said, { timeout: "2d", onTimeout: "fail" })
  .build();

/** Its first turn does everything that a first turn can. It runs before the start is written (first-turns.1). */
const firstTurn = orchestration("firstTurn", async (ctx, from: number) => {
  ctx.setStatus({ from });
  ctx.kv.set("from", from);
  void ctx.startDetached(child, from, { id: `detached-${from}` });
  const both = await ctx.all([
    ctx.run(work, from),
    ctx.call(child, from + 1),
    ctx.sleep("1m"),
    ctx.waitFor(said),
  ]);
  return [both[0], both[1], both[3]];
});
const atOnce = orchestration("atOnce", async (_, value: number) => {
  if (value < 0) throw new Error("below zero");
  return value;
});

const twice = job("twice", async (value: number) => value * 2);
/** Begins again after a minute. A limit and fair order lead its tasks through the rules of their queue. */
const second = job(
  "second",
  async (value: number, { attempt }) => {
    if (attempt === 1) throw new Error("not at once");
    return value;
  },
  {
    retry: { maxAttempts: 9, backoff: { kind: "fixed", base: "1m" } },
    limit: { concurrency: 1 },
    fair: true,
  },
);
const hopeless = job("hopeless", async (value: number) => {
  throw new NonRetryableError(`no ${value}`);
});

/** Jobs one by one, in bulk and by key, with fixed ids. */
async function enqueueAll(t: TestEnvironment): Promise<unknown> {
  const { client } = t;
  const replace = { key: "b", onConflict: "replace" } as const;
  const throttle = { key: "d", per: "1m", trailing: true } as const;
  const ids = await client.enqueueMany(twice, [1, { input: 2, delay: "1h" }], { requestId: "all" });
  const handles = [
    ...ids.map((id) => client.get(id)),
    await client.enqueue(hopeless, 4, { id: "hopeless" }),
    await client.enqueue(twice, 5, { id: "unique", unique: "a" }),
    await client.enqueue(second, 6, { id: "tenant-1", key: "tenant-1" }),
    await client.enqueue(second, 8, { id: "replaced", unique: replace }),
    await client.enqueue(twice, 10, { id: "throttled", throttle }),
    await client.enqueue(twice, 11, { id: "trailing", throttle }),
  ];
  await client.enqueue(twice, 13, { id: "not-inserted", throttle });
  await t.advance("50s"); // "replaced" has failed once, and waits for its second attempt
  handles.push(await client.enqueue(second, 14, { id: "successor", unique: replace }));
  return Promise.all(
    handles.map((handle) => handle.result().catch((error: unknown) => String(error))),
  );
}

/** Raises the values in order. Each raise has a fixed request id, so repeating the call changes nothing. */
async function say(client: Client, id: string, ...values: readonly number[]): Promise<void> {
  for (const value of values) {
    await client.get(id).raise(said, value, { requestId: `said-${value}` });
  }
}
const failure = (handle: Handle): Promise<unknown> =>
  handle.result().then(
    () => "completed",
    (error: unknown) => String(error),
  );

/** One scenario per feature, the same on every store. */
export function scenariosOn(store?: Store): readonly FailureScenario[] {
  const options = (register: TestEnvironmentOptions["register"]) => (): TestEnvironmentOptions => ({
    register,
    ...(store === undefined ? {} : { store }),
  });
  return [
    {
      name: "activities with retries",
      options: options([activities, work, flaky]),
      run: async (t) => (await t.start(activities, 5)).result(),
    },
    {
      name: "starts with their first turns",
      options: options([firstTurn, atOnce, child, work]),
      async run(t) {
        // From the second instance of a name on, the first turn is written with the start.
        const outcomes: unknown[] = [];
        for (const value of [1, 2]) {
          await t.client.raise(`turned-${value}`, "said", value, {
            ...{ requestId: `early-${value}`, ifMissing: "keep" },
          });
          const handle = await t.start(firstTurn, value, { id: `turned-${value}` });
          outcomes.push(await handle.result());
        }
        for (const value of [3, 4, -1]) {
          const handle = await t.start(atOnce, value, { id: `ended-${value}` });
          outcomes.push(await handle.result().catch((error: unknown) => String(error)));
        }
        return outcomes;
      },
    },
    {
      name: "jobs",
      options: options([twice, second, hopeless]),
      run: enqueueAll,
    },
    {
      name: "timers",
      options: options([timers, work]),
      run: async (t) => (await t.start(timers)).result(),
    },
    {
      name: "events",
      options: options([events]),
      async run(t) {
        const handle = await t.start(events, undefined, { events: [{ name: "said", data: 1 }] });
        t.at("1m", (client) => say(client, handle.id, 2, 3));
        return handle.result();
      },
    },
    {
      name: "children",
      options: options([children, child, work]),
      run: async (t) => (await t.start(children)).result(),
    },
    {
      name: "continue as new",
      options: options([rounds, work]),
      async run(t) {
        const handle = await t.start(rounds, { n: 1, sum: 0 });
        t.at("1m", (client) => say(client, handle.id, 100, 200, 300));
        return handle.result();
      },
    },
    {
      name: "cancel with compensation",
      options: options([cancelled, events, work, undo]),
      async run(t) {
        const handle = await t.start(cancelled);
        t.at("1h", (client) => client.get(handle.id).cancel("changed my mind"));
        return failure(handle);
      },
    },
    {
      name: "callbacks",
      options: options([callback, publish, render]),
      async run(t) {
        const handle = await t.start(callback);
        const complete = (name: string, value: number) => (client: Client) =>
          client.complete(tokens.get(`${handle.id} ${name}`) ?? "", value).then(() => undefined);
        t.at("10m", complete("publish", 1));
        t.at("11m", complete("publish", 2)); // a repetition
        t.at("3h", complete("render", 3));
        return handle.result();
      },
    },
    {
      name: "steps",
      options: options([steps, work]),
      run: async (t) => (await t.start(steps)).result(),
    },
    {
      name: "flow",
      options: options([order, work]),
      async run(t) {
        const handle = await t.start(order, 3);
        t.at("1h", (client) => say(client, handle.id, 7));
        return handle.result();
      },
    },
    {
      name: "rewinds",
      // A step carries out the repair and waits for the store: as for streams.
      options: () => ({ ...options(rewound)(), patienceMs: store === undefined ? 50 : 1_000 }),
      run: auditRewound,
    },
    {
      name: "streams and callbacks",
      // An activity waits for the store: without a limit on that wait, a store that hangs costs two seconds per run. A
      // server on a busy machine may need longer than 50 ms for an answer; time must not run ahead of it.
      options: () => ({ ...options(streamed)(), patienceMs: store === undefined ? 50 : 1_000 }),
      async run(t) {
        const handle = await t.start(studio, 1);
        answer(t);
        return auditOf(handle);
      },
    },
  ];
}
