// Failures in the log: every failed attempt and every failed instance writes one line with its name, cause and next step.

import { expect, test, vi } from "vitest";
import {
  activity,
  Client,
  consoleLog,
  NonRetryableError,
  orchestration,
  Runtime,
  type LogFields,
  type Orchestration,
  type RuntimeOptions,
} from "../../src/index.ts";
import { encryptingCodec } from "../../src/encryption/index.ts";
import {
  collectLogs,
  startRuntime,
  virtualStore,
  virtualWorld,
} from "../faults/trouble/support.ts";

const refused = (): never => {
  throw new Error("ECONNREFUSED");
};
const charge = activity("charge", refused);
const RETRY = { maxAttempts: 3, backoff: { kind: "exponential", base: "200ms" } } as const;
const ABOUT = { instance: "order-7", execution: 1, orchestration: "order", version: "1.0.0" };

async function run(order: Orchestration<undefined, unknown>, options: RuntimeOptions = {}) {
  const world = await virtualWorld([charge, order], options);
  const handle = await world.client.start(order, undefined, { id: "order-7" });
  await world.environment.advance(5_000);
  const lines = world.logs.lines.map(({ level, message }) => [level, message]);
  return { ...world, handle, lines };
}

test("each failed attempt of an activity logs a warning with its number and the next delay; the error of the instance follows", async () => {
  const order = orchestration("order", (ctx) =>
    ctx.run(charge, undefined, { retry: RETRY, tags: [] }),
  );
  const { lines, logs, runtime } = await run(order);
  expect(lines).toEqual([
    ["warn", "charge, order-7: attempt 1 of 3 failed: ECONNREFUSED; next in 200 ms"],
    ["warn", "charge, order-7: attempt 2 of 3 failed: ECONNREFUSED; next in 400 ms"],
    ["warn", "charge, order-7: attempt 3 of 3 failed: ECONNREFUSED; no attempts left"],
    [
      "error",
      expect.stringMatching(/^order, order-7: failed: ActivityError in charge: .*ECONNREFUSED/),
    ],
  ]);
  expect(logs.lines[1]?.fields).toEqual({
    ...ABOUT,
    ...{ activity: "charge", attempt: 2, worker: runtime.id, tags: [] },
    error: expect.objectContaining({ message: "ECONNREFUSED" }),
  });
  expect(logs.lines[3]?.fields).toEqual({ ...ABOUT, error: expect.any(Error) });
  expect(logs.lines[3]?.fields["error"]).toMatchObject({ cause: { message: "ECONNREFUSED" } });
});

test("a failed step logs a warning with the field `step`; a NonRetryableError is logged as not retryable", async () => {
  const order = orchestration("order", async (ctx) => {
    const work = (): never => {
      throw new NonRetryableError("the card is stolen");
    };
    await ctx.step("check", work, { retry: RETRY }).catch(() => undefined);
  });
  const { lines, logs } = await run(order);
  expect(lines).toEqual([
    [
      "warn",
      "check, order-7: attempt 1 of 3 failed: NonRetryableError: the card is stolen; not retryable",
    ],
  ]);
  expect(logs.lines[0]?.fields).toMatchObject({ ...ABOUT, step: "check", attempt: 1, tags: [] });
  expect(logs.lines[0]?.fields).not.toHaveProperty("activity");
});

test("logged and stored stacks end with the user's code", async () => {
  const own = [
    "Error: ECONNREFUSED",
    expect.stringMatching(/^ {4}at refused .*failure-logs\.test/),
  ];
  const stepStack = [...own, expect.stringMatching(/^ {4}at \S*failure-logs\.test/)]; // no inferred name
  const order = orchestration("order", async (ctx) => {
    await ctx.step("check", () => refused()).catch(() => undefined);
    await ctx.run(charge, undefined).catch(() => undefined);
    refused();
  });
  const { logs, handle } = await run(order);
  const stacks = logs.lines.map(({ fields: { error } }) =>
    error instanceof Error ? error.stack?.split("\n") : undefined,
  );
  expect(stacks).toEqual([stepStack, own, stepStack]);
  const history = await handle.history();
  const failures = history.flatMap((event) => ("failure" in event ? [event.failure] : []));
  expect(failures.map(({ stack }) => stack?.split("\n"))).toEqual(stacks);
});

test("a stack shows an anonymous function by the name of its activity, and keeps existing names", async () => {
  const pay = activity(
    "pay",
    () => {
      throw new Error("declined");
    },
    { retry: RETRY },
  );
  const order = orchestration("order", async (ctx) => {
    await ctx.run(pay, undefined, { attempts: 1 }).catch(() => undefined);
    await ctx.run(charge, undefined).catch(() => undefined);
  });
  const { client, environment, logs } = await virtualWorld([pay, charge, order]);
  await client.start(order, undefined, { id: "order-7" });
  await environment.advance(1_000);
  const frames = logs.lines.map(({ fields: { error } }) =>
    error instanceof Error ? /^ +at (\S+)/m.exec(error.stack ?? "")?.[1] : undefined,
  );
  expect(frames).toEqual(["pay", "refused"]);
});

test("the log line of a failed instance names the failed step or child", async () => {
  const step = orchestration("order", (ctx) => ctx.step("check", refused));
  const failed = await run(step);
  expect(failed.lines.at(-1)).toEqual([
    "error",
    "order, order-7: failed: StepError in check: ECONNREFUSED",
  ]);
  const child = orchestration("pay", async () => refused());
  const parent = orchestration("order", (ctx) => ctx.call(child, undefined));
  const { client, environment, logs } = await virtualWorld([child, parent]);
  await client.start(parent, undefined, { id: "order-7" });
  await environment.advance(1_000);
  expect(logs.lines.at(-1)?.message).toBe(
    "order, order-7: failed: ChildError in pay: ECONNREFUSED",
  );
});

test("a blocked instance logs a warning with its id", async () => {
  const order = orchestration("order", () => new Promise(() => undefined));
  const { lines, logs } = await run(order);
  expect(lines).toEqual([["warn", expect.stringMatching(/^order, order-7: blocked: /)]]);
  expect(logs.lines[0]?.fields).toEqual({ ...ABOUT, code: "FOREIGN_AWAIT" });
});

const CONTINUES = "order, order-7: continues after having been blocked (FOREIGN_AWAIT)";

test("an unblocked instance logs once that it continues", async () => {
  let isBroken = true;
  const order = orchestration("order", async (ctx) => {
    await ctx.sleep("1s");
    if (isBroken) await new Promise(() => undefined);
    await ctx.sleep("1s");
    await ctx.waitFor("go");
  });
  const { handle, environment, logs } = await run(order);
  isBroken = false;
  await handle.unblock();
  await environment.advance(5_000);
  await handle.raise("go");
  await environment.advance(1_000);
  expect((await handle.describe()).status).toBe("completed");
  expect(logs.lines.map(({ level, message }) => [level, message])).toEqual([
    ["warn", expect.stringMatching(/^order, order-7: blocked: /)],
    ["info", CONTINUES],
  ]);
  expect(logs.lines[1]?.fields).toEqual({ ...ABOUT, code: "FOREIGN_AWAIT" });
});

test("an instance repaired by new code logs once that it continues", async () => {
  const broken = orchestration("order", () => new Promise(() => undefined));
  const { provider, runtime, environment, client } = await run(broken);
  await runtime.shutdown();
  const repaired = orchestration("order", (ctx) => ctx.sleep("1s"));
  const logs = collectLogs();
  await startRuntime(provider, [charge, repaired], { log: logs.sink });
  await environment.advance(5_000);
  expect((await client.get("order-7").describe()).status).toBe("completed");
  expect(logs.lines.map(({ level, message }) => [level, message])).toEqual([["info", CONTINUES]]);
});

test("an instance that stays blocked after a deployment does not log that it continues", async () => {
  const broken = orchestration("order", () => new Promise(() => undefined));
  const { provider, runtime, environment } = await run(broken);
  await runtime.shutdown();
  const logs = collectLogs();
  await startRuntime(provider, [charge, broken], { log: logs.sink });
  await environment.advance(5_000);
  expect(logs.lines.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^order, order-7: blocked: /),
  ]);
});

test("using ctx after its turn logs a warning with the instance id", async () => {
  let leaked: (() => unknown) | undefined;
  const order = orchestration("order", async (ctx) => {
    leaked = () => ctx.sleep("1s");
    await ctx.sleep("1h");
  });
  const { logs } = await run(order);
  expect(() => leaked?.()).toThrow();
  expect(logs.lines).toEqual([
    {
      level: "warn",
      message: expect.stringMatching(
        /^order, order-7: The orchestration waits .*failure-logs\.test/,
      ),
      fields: ABOUT,
    },
  ]);
});

test("a timed-out attempt logs a warning", async () => {
  const slow = activity("slow", () => new Promise(() => undefined));
  const order = orchestration("order", (ctx) => ctx.run(slow, undefined, { timeout: "1s" }));
  const { client, environment, logs } = await virtualWorld([slow, order]);
  await client.start(order, undefined, { id: "order-7" });
  await environment.advance(2_000);
  const [line] = logs.lines;
  expect(line?.message).toMatch(/^slow, order-7: attempt 1 of 1 failed: TimeoutError: .*timed out/);
});

test("a cancelled instance writes no log line", async () => {
  const order = orchestration("order", (ctx) => ctx.sleep("1h"));
  const { handle, environment, logs } = await run(order);
  await handle.cancel("changed their mind");
  await environment.advance(1_000);
  expect((await handle.describe()).status).toBe("cancelled");
  expect(logs.lines).toEqual([]);
});

test("user fields keep their names and do not overwrite the fields of the engine", async () => {
  const mine = { instance: "mine", attempt: 99, order: 7 };
  const log = activity("log", (_: unknown, ctx) => ctx.log.info("activity", mine));
  const order = orchestration("order", async (ctx) => {
    ctx.log.info("orchestration", mine);
    await ctx.step("note", (step) => step.log.info("step", mine));
    await ctx.run(log, null, { retry: RETRY });
  });
  const { client, environment, logs, runtime } = await virtualWorld([log, order]);
  await client.start(order, undefined, { id: "order-7" });
  await environment.advance(100);
  const worker = runtime.id;
  const attempt = { ...ABOUT, attempt: 1, worker, tags: [], order: 7 };
  const fields = Object.fromEntries(
    logs.lines.map((line): [string, LogFields] => [line.message, line.fields]),
  );
  expect(fields).toEqual({
    orchestration: { ...ABOUT, attempt: 99, order: 7 },
    step: { ...attempt, step: "note" },
    activity: { ...attempt, activity: "log" },
  });
});

test("with a codec that seals failures the log shows only what the store shows", async () => {
  const codec = encryptingCodec({ keys: { a: Buffer.alloc(32, 7) }, current: "a" });
  const secret = activity("charge", (): never => {
    throw new TypeError("card 4242");
  });
  const order = orchestration("order", (ctx) => ctx.run(secret, undefined));
  const logs = collectLogs();
  const { provider, environment } = await virtualStore();
  await startRuntime(provider, [secret, order], { codec, log: logs.sink });
  await new Client(provider, { codec }).start(order, undefined, { id: "order-7" });
  await environment.advance(1_000);
  expect(logs.lines.map(({ level }) => level)).toEqual(["warn", "error"]);
  expect(logs.lines[0]?.message).toContain("TypeError: (sealed");
  expect(logs.lines[1]?.message).toContain("failed: ActivityError in charge: (sealed");
  const error = logs.lines[0]?.fields["error"];
  expect(error instanceof Error && `${error.message} ${error.stack}`).not.toContain("4242");
});

test("without a log option failures go to the console", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  const error = vi.spyOn(console, "error").mockReturnValue();
  try {
    const order = orchestration("order", (ctx) => ctx.run(charge, undefined));
    const { provider, client, environment } = await virtualStore();
    const runtime = new Runtime(provider, { register: [charge, order], shadowReplay: "never" });
    await runtime.start();
    await client.start(order, undefined, { id: "order-7" });
    await environment.advance(1_000);
    await runtime.shutdown({ graceMs: 0 });
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining("charge, order-7: attempt 1 of 1 failed: ECONNREFUSED")],
    ]);
    expect(error.mock.calls).toEqual([[expect.stringContaining("order, order-7: failed")]]);
  } finally {
    warn.mockRestore();
    error.mockRestore();
  }
});

test("consoleLog is a sink for the log option", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  try {
    const order = orchestration("order", (ctx) => ctx.run(charge, undefined).catch(() => "caught"));
    await run(order, { log: consoleLog({ level: "warn", format: "json" }) });
    const [line] = warn.mock.calls[0] ?? [];
    expect(JSON.parse(String(line))).toMatchObject({
      level: "warn",
      message: "charge, order-7: attempt 1 of 1 failed: ECONNREFUSED; no attempts left",
      fields: { ...ABOUT, activity: "charge", attempt: 1 },
    });
  } finally {
    warn.mockRestore();
  }
});
