// Schedules: each scheduled time has one run, also across crashes, deployments, pauses and clock changes.

import { expect, onTestFinished, test } from "vitest";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import {
  NonRetryableError,
  orchestration,
  Perdure,
  type ExecutorTask,
  type InstanceInfo,
} from "../../../src/index.ts";
import { flow } from "../../../src/flow/index.ts";
import {
  schedule,
  type Schedule,
  type ScheduleRule,
  type ScheduleState,
  type ScheduleStatus,
} from "../../../src/schedule/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import {
  crashEverywhere,
  FaultInjectingProvider,
  TestEnvironment,
} from "../../../src/testing/index.ts";

const report = orchestration("report", async (_, day: string) => `report of ${day}`);
const long = orchestration("long", async (ctx) => ctx.sleep("36h"));
const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
const rule = { cron: "0 3 * * *", start: report, input: dayOf } as const;
const nightly = schedule("nightly", rule);
/** The same schedule, for tests that start its instance themselves. */
const unapplied = schedule("nightly", { ...rule, apply: false });

/** A test environment on virtual time from 2026-01-01T00:00Z on, in which the schedule runs. */
async function begun(it: Schedule, more: Parameters<typeof kitWith>[0] = []) {
  const kit = await kitWith([it, ...more]);
  await kit.settle();
  return kit;
}

async function kitWith(register: Parameters<typeof TestEnvironment.create>[0]["register"]) {
  const kit = await TestEnvironment.create({ register: [report, long, ...register] });
  onTestFinished(() => kit.close());
  return kit;
}

/** The ids of the runs of a schedule, oldest first. */
async function runs(kit: TestEnvironment, name = "nightly"): Promise<readonly string[]> {
  const filter = { attributes: { schedule: name } };
  const { items } = await kit.client.list(filter, { limit: 1_000, order: "oldest" });
  return items.map(({ id }) => id.slice(name.length + 1));
}

/** The input of a schedule that runs by this rule, which may be invalid. */
function stateWith(rule: unknown): ScheduleState {
  return { rule: rule as ScheduleRule, after: null, change: null, last: null, run: null };
}

function statusOf(info: InstanceInfo): ScheduleStatus {
  return info.customStatus as ScheduleStatus;
}

test("ninety nights have ninety runs, each with the scheduled time in its id and its input", async () => {
  const kit = await begun(nightly);
  await kit.advance("90d");
  const ids = await runs(kit);
  expect(ids).toHaveLength(90);
  expect(ids[0]).toBe("2026-01-01T03:00:00.000Z");
  expect(ids[89]).toBe("2026-03-31T03:00:00.000Z");
  const first = kit.client.get(report, "nightly/2026-01-01T03:00:00.000Z");
  expect(await first.result()).toBe("report of 2026-01-01");
  const info = await kit.client.get("nightly").describe();
  expect(statusOf(info)).toEqual({
    next: new Date("2026-04-01T03:00:00Z"),
    last: {
      time: new Date("2026-03-31T03:00:00Z"),
      outcome: "started",
      id: "nightly/2026-03-31T03:00:00.000Z",
    },
  });
  expect((await kit.client.get("nightly").executions()).length).toBeLessThanOrEqual(11);
});

test("repeated calls of `apply` with the same rule change nothing", async () => {
  const kit = await begun(nightly);
  await Promise.all([nightly.apply(kit.client), nightly.apply(kit.client)]);
  await kit.advance("2d");
  await nightly.apply(kit.client);
  await kit.advance("1d");
  expect(await runs(kit)).toHaveLength(3);
  expect((await kit.client.get("nightly").unread()).items).toEqual([]);
  expect((await kit.client.get("nightly").describe()).execution).toBe(4);
});

test("`apply` recognises an unchanged rule that is stored encrypted", async () => {
  const keys = { one: Buffer.alloc(32, 1) };
  const codec = encryptingCodec({ keys, current: "one" });
  const from = new Date("2026-01-01T12:00:00Z");
  const it = schedule("nightly", { every: "1d", from, start: report, input: dayOf });
  const kit = await TestEnvironment.create({ register: [it, report], runtime: { codec } });
  onTestFinished(() => kit.close());
  await it.apply(kit.client);
  await kit.advance("2d");
  await it.apply(kit.client);
  await kit.settle();
  expect((await kit.client.get("nightly").describe()).execution).toBe(3);
  expect(await kit.client.count({ attributes: { schedule: "nightly" } })).toBe(2);
});

test("overlap decides whether a due run is skipped, runs concurrently, or cancels the running one", async () => {
  const outcomes = async (overlap: "skip" | "allow" | "cancel") => {
    const it = schedule(`${overlap}s`, { every: "1d", start: long, overlap });
    const kit = await begun(it);
    await kit.advance("4d");
    const ended = (status: "completed" | "cancelled" | "running") =>
      kit.client.count({ attributes: { schedule: it.name }, status });
    return [await ended("completed"), await ended("cancelled"), await ended("running")];
  };
  expect(await outcomes("skip")).toEqual([1, 0, 1]);
  expect(await outcomes("allow")).toEqual([2, 0, 2]);
  expect(await outcomes("cancel")).toEqual([0, 3, 1]);
});

test("the status of a skipped run names the run that was still running", async () => {
  const it = schedule("daily", { every: "1d", start: long });
  const kit = await begun(it);
  await kit.advance("2d");
  expect(statusOf(await kit.client.get("daily").describe()).last).toEqual({
    time: new Date("2026-01-03T00:00:00Z"),
    outcome: "skipped",
    id: "daily/2026-01-02T00:00:00.000Z",
  });
});

test.each([
  [{}, ["06T03", "07T03"]],
  [{ missed: "all" }, ["01T03", "02T03", "03T03", "04T03", "05T03", "06T03", "07T03"]],
  [{ maxLateness: "8h" }, ["07T03"]],
  [{ maxLateness: "9h" }, ["06T03", "07T03"]],
  [{ missed: "all", maxLateness: "2d" }, ["05T03", "06T03", "07T03"]],
] as const)(
  "runs missed in a pause of five days are caught up with the options %j",
  async (options, expected) => {
    const it = schedule("nightly", { cron: "0 3 * * *", start: report, input: dayOf, ...options });
    const kit = await begun(it);
    await kit.client.get("nightly").pause();
    await kit.advance("132h"); // to noon of the sixth
    expect(await runs(kit)).toEqual([]);
    await kit.client.get("nightly").resume();
    await kit.advance("24h");
    expect(await runs(kit)).toEqual(expected.map((time) => `2026-01-${time}:00:00.000Z`));
  },
);

test("a new rule applies from now on: due runs of the old rule are started first, and the new rule catches up no runs", async () => {
  const kit = await begun(nightly);
  await kit.advance("30h");
  const hourly = schedule("nightly", { cron: "15 * * * *", start: report, input: dayOf });
  await kit.deploy([hourly, report]);
  await hourly.apply(kit.client);
  await kit.settle();
  expect(await runs(kit)).toEqual(["2026-01-01T03:00:00.000Z", "2026-01-02T03:00:00.000Z"]);
  await kit.advance("1h");
  expect((await runs(kit)).slice(2)).toEqual(["2026-01-02T06:15:00.000Z"]);
  await hourly.apply(kit.client);
  await kit.settle();
  expect((await kit.client.get("nightly").unread()).items).toEqual([]);
});

test.each(["before", "after"] as const)(
  "runs that are due when a rule changes follow the old rule, if the change is raised %s they became due",
  async (when) => {
    const old = schedule("nightly", { every: "1d", missed: "all", start: report, input: dayOf });
    const kit = await begun(old);
    const changed = schedule("nightly", { cron: "30 * * * *", start: report, input: dayOf });
    await kit.client.get("nightly").pause();
    if (when === "before") await changed.apply(kit.client);
    await kit.advance("73h");
    if (when === "after") await changed.apply(kit.client);
    await kit.client.get("nightly").resume();
    await kit.advance("1h");
    expect(await runs(kit)).toEqual([
      "2026-01-02T00:00:00.000Z",
      "2026-01-03T00:00:00.000Z",
      "2026-01-04T00:00:00.000Z",
      "2026-01-04T01:30:00.000Z",
    ]);
  },
);

test("a trigger does not replace a scheduled run that is due", async () => {
  const kit = await begun(nightly);
  await kit.client.get("nightly").pause();
  await nightly.trigger(kit.client);
  await kit.advance("12h");
  await kit.client.get("nightly").resume();
  await kit.settle();
  expect(await runs(kit)).toEqual([
    "2026-01-01T12:00:00.000Z-trigger-1",
    "2026-01-01T03:00:00.000Z",
  ]);
});

test("each trigger starts a run at once and does not change the scheduled times", async () => {
  const it = schedule("daily", { every: "1d", start: long });
  const kit = await begun(it);
  await kit.advance("1d");
  await Promise.all([it.trigger(kit.client), it.trigger(kit.client)]);
  await kit.settle();
  expect(await runs(kit, "daily")).toHaveLength(3);
  expect(await kit.client.count({ attributes: { schedule: "daily" }, status: "running" })).toBe(3);
  const status = statusOf(await kit.client.get("daily").describe());
  expect(status.next).toEqual(new Date("2026-01-03T00:00:00Z"));
  expect(status.last).toMatchObject({ outcome: "started", time: new Date("2026-01-02T00:00:00Z") });
});

test("after its last scheduled time a schedule waits for a trigger or a new rule", async () => {
  const until = new Date("2026-01-02T12:00:00Z");
  const it = schedule("nightly", { cron: "0 3 * * *", until, start: report, input: dayOf });
  const kit = await begun(it);
  await kit.advance("10d");
  expect(await runs(kit)).toHaveLength(2);
  expect(statusOf(await kit.client.get("nightly").describe()).next).toBeNull();
  await it.trigger(kit.client);
  await kit.settle();
  expect(await runs(kit)).toHaveLength(3);
  await kit.deploy([nightly, report]);
  await nightly.apply(kit.client);
  await kit.advance("1d");
  expect((await runs(kit)).at(-1)).toBe("2026-01-11T03:00:00.000Z");
});

test("the next `apply` starts a cancelled schedule again, without the missed runs", async () => {
  const kit = await begun(nightly);
  await kit.advance("1d");
  await kit.client.get("nightly").cancel("not this week");
  await kit.advance("7d");
  expect(await runs(kit)).toHaveLength(1);
  await nightly.apply(kit.client);
  await kit.advance("1d");
  expect(await runs(kit)).toEqual(["2026-01-01T03:00:00.000Z", "2026-01-09T03:00:00.000Z"]);
});

test("`apply` refuses an id that belongs to an instance of another orchestration", async () => {
  const kit = await kitWith([unapplied]);
  await kit.start(report, "x", { id: "nightly" });
  await expect(nightly.apply(kit.client)).rejects.toMatchObject({ code: "INSTANCE_EXISTS" });
});

test("a failing input function is retried, and the run starts once", async () => {
  let asked = 0;
  const input = async (time: Date): Promise<string> => {
    asked += 1;
    if (asked < 4) throw new Error("the list is not there yet");
    return dayOf(time);
  };
  const it = schedule("nightly", { cron: "0 3 * * *", start: report, input });
  const kit = await begun(it);
  await kit.advance("4h");
  expect(asked).toBe(4);
  expect(await runs(kit)).toEqual(["2026-01-01T03:00:00.000Z"]);
});

test("an input function that fails permanently or kills its process loses only its run", async () => {
  const input = (time: Date): string | Promise<string> => {
    if (dayOf(time) === "2026-01-01") throw new NonRetryableError("no list for a holiday");
    return dayOf(time) === "2026-01-02" ? new Promise(() => undefined) : dayOf(time);
  };
  const it = schedule("nightly", { cron: "0 3 * * *", start: report, input });
  const runtime = { attemptsMax: 2 };
  const kit = await TestEnvironment.create({ register: [it, report], runtime, patienceMs: 20 });
  onTestFinished(() => kit.close());
  await it.apply(kit.client);
  await kit.advance("4h");
  expect(statusOf(await kit.client.get("nightly").describe()).last).toEqual({
    time: new Date("2026-01-01T03:00:00Z"),
    outcome: "failed",
    error: "no list for a holiday",
  });
  await kit.advance("24h");
  for (let death = 0; death < 2; death++) {
    await kit.crash();
    await kit.advance("1h");
  }
  const { status, customStatus } = await kit.client.get("nightly").describe();
  expect(status).toBe("running");
  expect((customStatus as ScheduleStatus).last).toMatchObject({
    time: new Date("2026-01-02T03:00:00Z"),
    outcome: "failed",
    error: expect.stringContaining("poison") as string,
  });
  await kit.advance("24h");
  expect(await runs(kit)).toEqual(["2026-01-03T03:00:00.000Z"]);
});

test("a schedule can start a flow, also in a runtime with an executor", async () => {
  const pipeline = flow<string>("pipeline")
    .then("shout", (day: string) => `${day}!`)
    .build();
  const it = schedule("nightly", { every: "1d", start: pipeline, input: "today" });
  const executor = ({ input }: ExecutorTask): string => `${String(input)}, elsewhere`;
  const perdure = await Perdure.open("sqlite::memory:", {
    register: [it, pipeline],
    runtime: { executor },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  await it.apply(perdure.client);
  await it.trigger(perdure.client);
  const started = async () => (await perdure.client.list({ name: "pipeline" })).items[0]?.id;
  await expect.poll(started).toMatch(/^nightly\/.*-trigger-1$/);
  const run = perdure.client.get(pipeline, (await started()) ?? "");
  expect(await run.result({ timeout: "30s" })).toBe("today, elsewhere");
});

test("an unknown time zone makes a schedule wait and does not end it", async () => {
  const kit = await kitWith([unapplied]);
  const unknown = { ...nightly.rule, timezone: "Mars/Olympus" };
  await kit.start(nightly, stateWith(unknown), { id: "nightly" });
  await kit.advance("2h");
  const info = await kit.client.get("nightly").describe();
  expect(info).toMatchObject({ status: "running", execution: 3 });
  expect(statusOf(info).problem).toContain("Mars/Olympus");
  await nightly.apply(kit.client);
  await kit.advance("2h");
  expect(await runs(kit)).toEqual(["2026-01-01T03:00:00.000Z"]);
});

const INVALID_RULES: readonly unknown[] = [
  undefined,
  null,
  5,
  {},
  { ...nightly.rule, cron: null },
  { ...nightly.rule, everyMs: 1_000 },
  { ...nightly.rule, cron: null, everyMs: 10 },
  { ...nightly.rule, from: "2026-01-01" },
  { ...nightly.rule, jitterMs: -1 },
  { ...nightly.rule, overlap: "wait" },
  { ...nightly.rule, cron: "every night" },
  { ...nightly.rule, timezone: "Nowhere" },
];

test.each(INVALID_RULES.map((rule) => [rule]))(
  "a change to %j is logged and ignored, and the schedule keeps its rule",
  async (change) => {
    const lines: string[] = [];
    const runtime = { log: (level: string, line: string) => void lines.push(`${level} ${line}`) };
    const kit = await TestEnvironment.create({ register: [nightly, report], runtime });
    onTestFinished(() => kit.close());
    await nightly.apply(kit.client);
    await kit.settle();
    await kit.client.raise("nightly", "change", change);
    await kit.advance("1d");
    expect(await runs(kit)).toEqual(["2026-01-01T03:00:00.000Z"]);
    expect(lines.filter((line) => line.includes("invalid change"))).toHaveLength(1);
    await nightly.apply(kit.client);
    expect((await kit.client.get("nightly").unread()).items).toEqual([]);
  },
);

test("an invalid change does not replace a pending valid change", async () => {
  const daily = { every: "1d", jitter: "2h", start: report, input: dayOf } as const;
  const kit = await begun(schedule("nightly", daily));
  await kit.client.get("nightly").pause();
  const hourly = schedule("nightly", { every: "1h", start: report, input: dayOf });
  await hourly.apply(kit.client);
  await kit.client.raise("nightly", "change", {});
  await kit.advance("24h");
  await kit.client.get("nightly").resume();
  await kit.advance("26h");
  expect(await runs(kit)).toContain("2026-01-03T01:00:00.000Z");
});

test.each(INVALID_RULES.filter((rule) => rule !== null).map((rule) => [rule]))(
  "`apply` repairs a schedule with the rule %j, and missed runs are caught up",
  async (rule) => {
    const kit = await kitWith([unapplied]);
    await kit.start(nightly, stateWith(rule), { id: "nightly" });
    await kit.advance("30m");
    expect(await kit.client.get("nightly").describe()).toMatchObject({ status: "running" });
    await kit.advance("5h");
    expect(await runs(kit)).toEqual([]);
    await nightly.apply(kit.client);
    await kit.settle();
    expect(await runs(kit)).toEqual(["2026-01-01T03:00:00.000Z"]);
    await kit.advance("1d");
    expect(await runs(kit)).toHaveLength(2);
    expect(statusOf(await kit.client.get("nightly").describe()).problem).toBeUndefined();
  },
);

test("`apply` before the first turn finds the rule in the start message", async () => {
  const kit = await kitWith([]);
  for (let call = 0; call < 3; call++) await nightly.apply(kit.client);
  expect((await kit.client.get("nightly").unread()).items).toEqual([]);
});

test("the change event is internal, and the trigger event is not", async () => {
  const kit = await begun(nightly);
  const { waitingFor } = await kit.client.get("nightly").describe();
  const events = waitingFor.flatMap((wait) => (wait.kind === "event" ? [wait] : []));
  expect(events.map(({ name, internal }) => [name, internal])).toEqual([
    ["change", true],
    ["trigger", undefined],
  ]);
});

test("jitter delays the start of a run by at most its duration and does not change its scheduled time", async () => {
  const it = schedule("nightly", { every: "1d", jitter: "2h", start: report, input: "fixed" });
  const kit = await begun(it);
  await kit.advance("30d");
  const { items } = await kit.client.list({ attributes: { schedule: "nightly" } }, { limit: 100 });
  const late = items.map(({ id, createdAt }) => createdAt.getTime() - Date.parse(id.slice(8)));
  expect(late.length).toBeGreaterThanOrEqual(29);
  expect(Math.max(...late)).toBeLessThan(2 * 3_600_000);
  expect(Math.max(...late) - Math.min(...late)).toBeGreaterThan(1_800_000);
});

test("jitter of any length causes no late or missed runs", async () => {
  const late = { every: "1d", jitter: "2h", maxLateness: "1m" } as const;
  const crowded = { every: "1h", jitter: "5h", overlap: "allow" } as const;
  for (const options of [late, crowded]) {
    const it = schedule("nightly", { ...options, start: report, input: "fixed" });
    const kit = await begun(it);
    await kit.advance("10d");
    const times = [...(await runs(kit))].toSorted();
    const end = new Date(Date.parse(times.at(-1) ?? "") + 1);
    const every = it.times(300, new Date("2026-01-01T00:00:00Z")).filter((time) => time < end);
    expect(times).toEqual(every.map((time) => time.toISOString()));
    expect(times.length).toBeGreaterThanOrEqual(options === late ? 9 : 230);
  }
});

test("a process death before or after any write neither loses nor repeats a run", async () => {
  const hourly = schedule("hourly", { every: "1h", start: report, input: dayOf, apply: false });
  const state = { rule: hourly.rule, after: null, change: null, last: null, run: null };
  const tried = await crashEverywhere(hourly, state, {
    register: [hourly, report],
    when: "both",
    scenario: (kit, handle) => void kit.at("190m", () => handle.cancel("enough")),
    check: async (kit) => {
      expect(await runs(kit, "hourly")).toEqual([
        "2026-01-01T01:00:00.000Z",
        "2026-01-01T02:00:00.000Z",
        "2026-01-01T03:00:00.000Z",
      ]);
    },
  });
  expect(tried.runs).toBeGreaterThan(40);
});

test("schedule() refuses invalid options", () => {
  const given =
    (options: object, name = "s") =>
    () =>
      schedule(name, options as never);
  expect(given({ every: "1d" })).toThrow(
    'start of schedule "s" must be an orchestration; got undefined',
  );
  expect(given({ every: "1d", start: report, input: "x", evry: 1 })).toThrow(
    'unknown option "evry"',
  );
  expect(given({ every: "1d", start: report, input: "x" }, "a::b")).toThrow("reserved");
  expect(given({ every: "1d", start: report, input: "x" }, "n".repeat(201))).toThrow("200 bytes");
  expect(() => nightly.times(0, new Date())).toThrow("count");
  expect(() => nightly.times(1, "now" as never)).toThrow("valid Date");
});

test("times() returns the next scheduled times", () => {
  expect(nightly.times(2, new Date("2026-06-01T12:00:00Z"))).toEqual([
    new Date("2026-06-02T03:00:00Z"),
    new Date("2026-06-03T03:00:00Z"),
  ]);
});

test.each([undefined, null, 7, {}])(
  "starting a schedule by its name with the input %j fails, and the error names the call to use instead",
  async (input) => {
    const kit = await kitWith([unapplied]);
    const message =
      'Invalid input of "nightly": a schedule must be started with schedule.apply(client), not by its name.';
    const handle = await kit.client.start("nightly", input);
    await kit.settle();
    const { error } = await handle.describe();
    expect(error?.failure).toMatchObject({ code: "INVALID_ARGUMENT", message });
    expect(error?.failure.stack).not.toMatch(/^\s+at /m); // without frames of the library
    const untyped = input as ScheduleState; // as from JavaScript
    await expect(kit.client.start(nightly, untyped, { id: "direct" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message,
    });
    await expect(kit.client.get("direct").describe()).rejects.toThrow("direct");
  },
);

test.each(["registerRuntime", "readInstance"] as const)(
  "if %s fails, opening the store rejects and leaves no registered runtime",
  async (method) => {
    const store = await SqliteProvider.open(":memory:");
    onTestFinished(() => store.close());
    const fails = { kind: "fail", when: "before" } as const;
    const { provider } = new FaultInjectingProvider(store, {
      call: (call) => (call.method === method ? fails : undefined),
    });
    await expect(Perdure.open(provider, { register: [nightly, report] })).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(await store.listRuntimes()).toEqual([]);
    await using perdure = await Perdure.open(store, { register: [nightly, report] });
    expect(await perdure.client.count({ name: "nightly" })).toBe(1);
  },
);
