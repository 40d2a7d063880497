// Executors: an activity has the same outcome in every executor (semantics 10 to 13).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import {
  activity,
  ActivityError,
  defaultCodec,
  orchestration,
  Runtime,
  threads,
  type Activity,
  type ActivityContext,
  type Executor,
  type ExecutorTask,
  type RuntimeOptions,
  type StandardSchema,
} from "../../../src/index.ts";
import {
  LINES_MAX,
  lineSender,
  newLogMemory,
  receiveLine,
} from "../../../src/runtime/threads/thread-log.ts";
import {
  collectLogs,
  memoryStore,
  refusalOf,
  startRuntime,
  temporaryFolder,
  until,
  virtualWorld,
} from "../../faults/trouble/support.ts";
import * as module from "./threads/activities.ts";

const MODULE = new URL("./threads/activities.ts", import.meta.url);
const WORK = Object.values(module).filter((value) => typeof value === "object");

/** A runtime with the orchestration `main`, which calls the given activity in a thread. */
async function threadWorld(size = 2, options: RuntimeOptions & { memoryMb?: number } = {}) {
  const { memoryMb = 256, ...runtimeOptions } = options;
  const logs = collectLogs();
  const store = await memoryStore();
  const executor = threads({ module: MODULE, size, memoryMb });
  const main = orchestration("main", (ctx, { name, input, ...rest }: Call) =>
    ctx.run(name, input, rest),
  );
  const runtime = await startRuntime(store.provider, [main, ...WORK], {
    executor,
    log: logs.sink,
    ...runtimeOptions,
  });
  const call = (given: Call, id: string = given.name) => store.client.start(main, given, { id });
  const result = async (given: Call, id?: string) =>
    (await call(given, id)).result({ timeout: "30s" });
  return { ...store, runtime, logs, call, result, main };
}
/** Worker threads of this process. */
function liveThreads(): number {
  return (process.report?.getReport() as unknown as { workers: unknown[] }).workers.length;
}

type CallDetails = Pick<ActivityContext, "info" | "attempt" | "idempotencyKey">;
interface Call {
  readonly name: string;
  readonly input?: unknown;
  readonly attempts?: number;
  readonly timeout?: number;
  readonly heartbeatTimeout?: number;
}

describe("invalid executors", () => {
  test.each([
    ["a number", 5],
    ["a text", "threads"],
    ["null", null],
    ["an object", {}],
    ["an object that resembles threads", { kind: "threads" }],
    ["a list with the name of an executor", ["process"]],
  ])("an executor that is %s is refused", async (_, executor) => {
    const { provider } = await memoryStore();
    const options = { register: [], executor: executor as Executor };
    const error = await refusalOf(() => new Runtime(provider, options));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(error.message).toContain("executor of a runtime");
    const define = () => activity("a", () => 1, { executor: executor as Executor });
    expect((await refusalOf(define)).message).toContain('executor of activity "a"');
  });

  test.each([
    ["nothing", undefined],
    ["no module", {}],
    ["a relative module", { module: "./activities.ts" }],
    ["zero threads", { module: MODULE, size: 0 }],
    ["half a thread", { module: MODULE, size: 0.5 }],
    ["no memory", { module: MODULE, memoryMb: 0 }],
    ["a misspelt option", { module: MODULE, sizes: 2 }],
  ])("threads with %s is refused", async (_, options) => {
    const error = await refusalOf(() => threads(options as Parameters<typeof threads>[0]));
    expect(error.code).toBe("INVALID_ARGUMENT");
  });
});

const moduleFolder = mkdtempSync(join(tmpdir(), "perdure-modules-"));
afterAll(() => rmSync(moduleFolder, { recursive: true, force: true }));
let modules = 0;

/** A module in a file. Its activities are plain objects, as a thread sees them. */
function moduleOf(...lines: readonly string[]): URL {
  const define = `const activity = (name) =>
    ({ kind: "activity", name, defaults: {}, options: {}, handler: () => name });`;
  const file = join(moduleFolder, `${(modules += 1)}.mjs`);
  writeFileSync(file, [define, ...lines].join("\n"));
  return pathToFileURL(file);
}

describe("a runtime does not start if its module cannot run the registered activities", () => {
  async function startWith(register: readonly Activity<never, unknown>[], options: RuntimeOptions) {
    const { provider } = await memoryStore();
    const error = await refusalOf(startRuntime(provider, register, options));
    expect(await provider.listRuntimes()).toEqual([]); // no runtime was registered
    return error;
  }
  const [a, b, c] = ["a", "b", "c"].map((name) => activity(name, () => name));
  const all = [a, b, c].filter((definition) => definition !== undefined);

  test("the error names all missing activities of every module", async () => {
    const other = threads({ module: moduleOf("export const x = activity('x')") });
    const own = activity("own", () => 1, { executor: other });
    const here = activity("here", () => 1, { executor: "process" });
    const error = await startWith([...all, own, here], {
      executor: threads({ module: moduleOf("export const list = [activity('b')]") }),
    });
    expect(error.code).toBe("NOT_REGISTERED");
    expect(error.message).toMatch(/does not export a, c/);
    expect(error.message).toMatch(/does not export own/);
    expect(error.message).not.toContain("here");
  });

  test.each([
    ["throws", moduleOf("throw new Error('no such drive')"), "no such drive"],
    ["does not exist", new URL("./nowhere.ts", import.meta.url), "nowhere.ts"],
    [
      "exports two activities with one name",
      moduleOf("export const x = activity('a')", "export const y = activity('a')"),
      'two activities named "a"',
    ],
    ["exports an invalid codec", moduleOf("export const codec = 5"), "encode and decode"],
    ["ends its thread", moduleOf("process.exit(7)"), "exit code 7"],
  ])("a module that %s is refused", async (_, address, why) => {
    const error = await startWith(all, { executor: threads({ module: address }) });
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain(why);
  });

  test("a module with another codec than the runtime is refused", async () => {
    const exports = "export const list = ['a', 'b', 'c'].map(activity)";
    const codec = { ...defaultCodec };
    const without = threads({ module: moduleOf(exports) });
    expect((await startWith(all, { executor: without, codec })).message).toContain("exports none");
    const withOne = "export const codec = { encode: String, decode: String }";
    const executor = threads({ module: moduleOf(exports, withOne) });
    expect((await startWith(all, { executor })).message).toContain("it exports a codec");
  });
});

describe("a function as executor", () => {
  const double: StandardSchema<number> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => ({ value: (value as number) * 2 }),
    },
  };
  const main = orchestration("main", async (ctx, name: string) => ctx.run(name, new Date(5)));
  const plain = activity("plain", () => "the function of the activity");

  test("receives name, decoded input and context, and its return value is the outcome", async () => {
    const seen: ExecutorTask[] = [];
    const executor: Executor = (task) => {
      seen.push(task);
      return { ranBy: "me", attempt: task.context.attempt };
    };
    const world = await virtualWorld([main, plain], { executor });
    const handle = await world.client.start(main, "plain", { id: "i" });
    await world.environment.settle();
    expect(await handle.result({ timeout: 0 })).toEqual({ ranBy: "me", attempt: 1 });
    expect(seen).toMatchObject([{ name: "plain", input: new Date(5) }]);
    expect(seen[0]?.context.info).toMatchObject({ instanceId: "i", activity: "plain" });
  });

  test("is retried after a failure like the function of an activity", async () => {
    const executor: Executor = async ({ context }) => {
      context.heartbeat(context.attempt);
      if (context.attempt < 3) throw new TypeError("not yet");
      return context.lastHeartbeat;
    };
    const work = activity("work", () => "unused", { attempts: 3, executor });
    const run = orchestration("run", (ctx) => ctx.run(work));
    const world = await virtualWorld([run, work]);
    const handle = await world.client.start(run);
    await world.environment.advance(1_000);
    expect(await handle.result({ timeout: 0 })).toBe(2);
  });

  test("receives the parsed input, and its output is parsed by the schema", async () => {
    const executor: Executor = ({ input }) => (input as number) + 1;
    const work = activity("work", () => 0, { input: double, output: double, executor });
    const run = orchestration("run", (ctx) => ctx.run(work, 5));
    const world = await virtualWorld([run, work]);
    const handle = await world.client.start(run);
    await world.environment.settle();
    expect(await handle.result({ timeout: 0 })).toBe(22);
  });

  test("the executor of an activity takes precedence over that of the runtime", async () => {
    const here = activity("here", () => "here", { executor: "process" });
    const mine = activity("mine", () => "unused", { executor: () => "mine" });
    const world = await virtualWorld([main, here, mine, plain], { executor: () => "runtime's" });
    const results: unknown[] = [];
    for (const name of ["here", "mine", "plain"]) {
      const handle = await world.client.start(main, name);
      await world.environment.settle();
      results.push(await handle.result({ timeout: 0 }));
    }
    expect(results).toEqual(["here", "mine", "runtime's"]);
  });
});

describe("threads", () => {
  test("run activities outside the main thread, on at most `size` threads", async () => {
    const { result } = await threadWorld(2);
    const locations = await Promise.all(
      Array.from({ length: 12 }, (_, i) => result({ name: "where" }, `w${i}`)),
    );
    const ids = new Set(locations.map((location) => (location as { threadId: number }).threadId));
    expect(locations).toEqual(
      locations.map(() => ({ isMainThread: false, threadId: expect.anything() })),
    );
    expect(ids.size).toBeLessThanOrEqual(2);
  });

  test("keep values exact across the thread boundary (I10)", async () => {
    const { result } = await threadWorld(1);
    const value = {
      at: new Date(3),
      map: new Map([[new Set([1n]), -0]]),
      bytes: new Uint8Array([1, 2]),
      nothing: undefined,
      error: new RangeError("far", { cause: "out" }),
    };
    expect(await result({ name: "echo", input: value })).toStrictEqual(value);
  });

  test("give an attempt the same context as in the process", async () => {
    const detailsFrom = async (executor: Executor) => {
      const { result, runtime } = await threadWorld(1, { executor });
      const { info, attempt, idempotencyKey } = (await result(
        { name: "details" },
        "i",
      )) as CallDetails;
      expect(info.worker).toBe(runtime.id);
      expect(idempotencyKey).toMatch(/^[0-9a-f]{32}:1:2$/);
      return { info: { ...info, worker: "" }, attempt };
    };
    expect(await detailsFrom(threads({ module: MODULE }))).toStrictEqual(
      await detailsFrom("process"),
    );
  });

  test("send log lines with their fields to the log of the runtime", async () => {
    const { result, logs } = await threadWorld(1);
    await result({ name: "logs" });
    await until("the log line has arrived", () => logs.lines.length > 0);
    expect(logs.lines[0]).toMatchObject({
      level: "info",
      message: "from a thread",
      fields: { instance: "logs", activity: "logs", at: new Date(7), odd: "Symbol(strange)" },
    });
    expect(logs.lines[0]?.fields["error"]).toBeInstanceOf(Error);
  });

  test("return a failure as the original error", async () => {
    const { provider, client } = await memoryStore();
    const main = orchestration("main", async (ctx) => {
      const error = await ctx.run(module.fails, "plain", { attempts: 2 }).catch((e: unknown) => e);
      if (!(error instanceof ActivityError) || !(error.cause instanceof RangeError)) return error;
      const { limit } = error.cause as RangeError & { limit?: number };
      return { kind: error.kind, attempts: error.attempts, limit, message: error.message };
    });
    const executor = threads({ module: MODULE, size: 1 });
    await startRuntime(provider, [main, module.fails], { executor });
    expect(await (await client.start(main)).result({ timeout: "30s" })).toEqual({
      kind: "application",
      attempts: 2,
      limit: 5,
      message: "too much",
    });
  });

  test("support RetryAfterError and NonRetryableError", async () => {
    const { result, call } = await threadWorld(1);
    expect(await result({ name: "fails", input: "later", attempts: 3 }, "later")).toBe(2);
    const final = await call({ name: "fails", input: "final", attempts: 3 }, "final");
    await expect(final.result({ timeout: "30s" })).rejects.toThrow("never again");
    expect((await final.history()).at(2)).toMatchObject({ kind: "ActivityFailed", attempts: 1 });
  });

  test("refuse values that cannot be serialized or that a schema rejects", async () => {
    const { result } = await threadWorld(1);
    await expect(result({ name: "unstorable", attempts: 3 })).rejects.toThrow(/function/);
    await expect(result({ name: "checked", input: 0.5 })).rejects.toThrow("no whole number");
    expect(await result({ name: "checked", input: 4 }, "fine")).toBe(5);
  });

  test("use the codec that the module exports", async () => {
    const { provider, client } = await memoryStore();
    const codec = {
      encode: (value: unknown) => `!${defaultCodec.encode(value)}`,
      decode: (text: string) => defaultCodec.decode(text.slice(1)),
    };
    const address = moduleOf(
      `export const codec = { encode: (v) => "!" + JSON.stringify(v), decode: (t) => JSON.parse(t.slice(1)) };`,
      `export const add = { ...activity("add"), handler: ([a, b]) => a + b };`,
    );
    const add = activity("add", ([a, b]: [number, number]) => a + b, {
      executor: threads({ module: address }),
    });
    const main = orchestration("main", (ctx) => ctx.run(add, [2, 3]));
    await startRuntime(provider, [main, add], { codec });
    const handle = await client.start(main, undefined, { id: "i" });
    await until(
      "the instance has ended",
      async () => (await provider.readInstance("i"))?.output === "!5",
    );
    expect((await handle.history()).find(({ kind }) => kind === "ActivityCompleted")).toMatchObject(
      {
        output: "!5",
      },
    );
  });

  test("deliver the last heartbeat to the next attempt, although the thread's event loop never turned", async () => {
    const { result } = await threadWorld(1);
    expect(await result({ name: "beats", input: 5_000, attempts: 2 })).toEqual({ page: 5_000 });
  });

  test("time out an activity without heartbeats or over its timeout", async () => {
    const { result } = await threadWorld(1, { cancelGraceMs: 0 });
    const silent = result({ name: "silent", heartbeatTimeout: 100 });
    await expect(silent).rejects.toThrow("timeout: activity heartbeat timed out");
    const slow = result({ name: "silent", timeout: 100 }, "slow");
    await expect(slow).rejects.toThrow("timeout: activity timed out");
  });

  test("start the timeout when the activity is entered, not while it waits for a thread", async () => {
    const { call, result } = await threadWorld(1);
    await call({ name: "busy", input: 600 }, "first");
    expect(await result({ name: "busy", input: 1, timeout: 500 }, "second")).toBe(false);
  });
});

describe("an activity cancelled in a thread", () => {
  test("receives the abort with its reason", async () => {
    const { call, logs } = await threadWorld(1);
    const handle = await call({ name: "waits" });
    await until("the activity waits", () => logs.about("waiting").length > 0);
    await handle.cancel("no more");
    await until("the activity is aborted", () => logs.about("aborted").length > 0);
    expect(logs.about("aborted")[0]?.fields).toMatchObject({
      name: "CancelledError",
      code: "CANCELLED",
      message: expect.stringContaining("no more"),
    });
  });

  test("is ended with its thread if it ignores the abort, and the next activity gets a new thread", async () => {
    const { call, result, logs, runtime } = await threadWorld(1, { cancelGraceMs: 50 });
    const handle = await call({ name: "spins" });
    await until("the activity spins", () => logs.about("spinning").length > 0);
    const next = result({ name: "where" });
    await handle.cancel("no more");
    expect(await next).toMatchObject({ isMainThread: false });
    expect(runtime.stats().activities).toMatchObject({ cancelled: 1, died: 0, active: 0 });
    expect(logs.about("died")).toEqual([]);
  });

  test("is never entered if it still waits for a thread", async () => {
    const { call, logs, runtime } = await threadWorld(1, { cancelGraceMs: 60_000 });
    const first = await call({ name: "waits" }, "first");
    const second = await call({ name: "spins" }, "second");
    await until("both are active", () => runtime.stats().activities.active === 2);
    await until("the first waits", () => logs.about("waiting").length > 0);
    await second.cancel();
    await until("its slot is free", () => runtime.stats().activities.active === 1);
    await first.cancel();
    await until("the first ended", () => logs.about("aborted").length > 0);
    expect(logs.about("spinning")).toEqual([]);
  });
});

describe("a thread that dies", () => {
  test.each(["exit", "throw", "hoard"] as const)(
    "by %s loses only the attempt of its task (13)",
    async (how) => {
      const { call, result, logs, runtime, client } = await threadWorld(2, { memoryMb: 32 });
      const neighbour = await call({ name: "waits" }, "neighbour");
      await until("the neighbour waits", () => logs.about("waiting").length > 0);
      // The caller allows one attempt. A thread death does not use it up.
      const input = { how, lives: 2 };
      expect(await result({ name: "dies", input, attempts: 1 }, "culprit")).toBe(3);
      const outcome = (await client.get("culprit").history()).at(2);
      expect(outcome).toMatchObject({ kind: "ActivityCompleted", attempts: 3 });
      expect(runtime.stats().activities).toMatchObject({ died: 2, failed: 0, retried: 0 });
      expect(logs.about('died in activity "dies" of culprit')).toHaveLength(2);
      expect(logs.about("waiting")).toHaveLength(1); // the neighbour was not interrupted
      await neighbour.cancel();
      await until("the neighbour ended", () => logs.about("aborted").length > 0);
    },
  );

  test("is visible in waitingFor of the instance", async () => {
    const { call, provider, client } = await threadWorld(1, { attemptsMax: 100 });
    await call({ name: "dies", input: { how: "exit", lives: 100 } }, "culprit");
    const deaths = async () => {
      const [wait] = (await client.get("culprit").describe()).waitingFor;
      return wait?.kind === "activity" ? wait : undefined;
    };
    await until("the thread died once", async () => (await deaths())?.lastError !== undefined);
    expect(await deaths()).toMatchObject({ lastError: expect.stringContaining("exit code 3") });
    await until("the task is suspect", async () => {
      const key = (await provider.readInstance("culprit"))?.key ?? 0;
      return (await provider.readTasks({ key, execution: 1 }))[0]?.suspect === true;
    });
  });

  test("repeatedly makes its activity fail as poison", async () => {
    const { provider, client } = await memoryStore();
    const main = orchestration("main", async (ctx) => {
      const error = await ctx
        .run(module.dies, { how: "exit", lives: 100 }, { attempts: 5 })
        .catch((e: unknown) => e);
      return error instanceof ActivityError ? error.kind : error;
    });
    const executor = threads({ module: MODULE, size: 1 });
    await startRuntime(provider, [main, module.dies], { executor, attemptsMax: 2 });
    expect(await (await client.start(main)).result({ timeout: "30s" })).toBe("poison");
  });

  test("is replaced after a backoff, not before (I12)", async () => {
    const main = orchestration("main", (ctx) => ctx.run(module.dies, { how: "exit", lives: 1 }));
    const executor = threads({ module: MODULE, size: 1 });
    const world = await virtualWorld([main, module.dies], { executor });
    const handle = await world.client.start(main);
    await until("the thread died", () => world.logs.about("died").length > 0);
    await until("the activity started again", () => world.runtime.stats().activities.started === 2);
    await world.environment.settle();
    expect(liveThreads()).toBe(0);
    await world.environment.advance(100);
    await until("there is a thread again", () => liveThreads() === 1);
    await until("the activity completed", () => world.runtime.stats().activities.completed === 1);
    await world.environment.settle();
    expect(await handle.result({ timeout: 0 })).toBe(2);
  });

  test("and reloads a module without its activity delays the task without counting an attempt", async () => {
    const flag = join(temporaryFolder(), "lost");
    const address = moduleOf(
      `import { existsSync, writeFileSync } from "node:fs";`,
      `const handler = (flag) => {
        if (existsSync(flag + ".once")) return "survived";
        writeFileSync(flag + ".once", "");
        writeFileSync(flag, "");
        process.exit(1);
      };`,
      `export const list = existsSync(${JSON.stringify(flag)})
        ? [] : [{ ...activity("moody"), handler }];`,
    );
    const { provider, client } = await memoryStore();
    const logs = collectLogs();
    const moody = activity("moody", (_: string) => "", { executor: threads({ module: address }) });
    const main = orchestration("main", (ctx) => ctx.run(moody, flag));
    await startRuntime(provider, [main, moody], { log: logs.sink });
    const handle = await client.start(main, undefined, { id: "i" });
    await until(
      "the missing activity was logged",
      () => logs.about("does not export moody").length > 0,
    );
    const [task] = await provider.readTasks({
      key: (await provider.readInstance("i"))?.key ?? 0,
      execution: 1,
    });
    expect(task).toMatchObject({ attempt: 1, suspect: false });
    rmSync(flag);
    expect(await handle.result({ timeout: "30s" })).toBe("survived");
    expect((await handle.history())[2]).toMatchObject({ kind: "ActivityCompleted", attempts: 2 });
  });

  test("never results from an unhandled rejection, which is only logged", async () => {
    const { result, logs } = await threadWorld(1);
    const first = await result({ name: "floats" }, "first");
    expect(await result({ name: "floats" }, "second")).toBe(first); // the same thread
    await until(
      "the rejection was logged",
      () => logs.about("unhandled promise rejection").length === 2,
    );
    expect(logs.about("unhandled promise rejection")[0]?.fields).toMatchObject({
      activity: "floats",
      instance: "first",
    });
  });
});

describe("at shutdown", () => {
  test("threads end with the runtime, and their tasks are released without counting an attempt", async () => {
    const { call, runtime, logs, provider } = await threadWorld(2);
    await call({ name: "waits" });
    await call({ name: "spins" });
    await until("both run", () => logs.lines.length === 2);
    expect(liveThreads()).toBe(2);
    await runtime.shutdown({ graceMs: 100 }); // the activity that spins would never end
    expect(liveThreads()).toBe(0);
    for (const id of ["waits", "spins"]) {
      const key = (await provider.readInstance(id))?.key ?? 0;
      const [task] = await provider.readTasks({ key, execution: 1 });
      expect(task).toMatchObject({ attempt: 0, owner: null, suspect: false, lastFailure: null });
    }
  });

  test("the runtime waits for activities that end within the grace period, and they do not run again", async () => {
    const { call, runtime, provider, main } = await threadWorld(1);
    const handle = await call({ name: "busy", input: 300 });
    await until("the activity is active", () => runtime.stats().activities.active === 1);
    await runtime.shutdown();
    expect(liveThreads()).toBe(0);
    await startRuntime(provider, [main]); // this runtime cannot run the activity
    expect(await handle.result({ timeout: "30s" })).toBe(false);
  });
});

test("a thread that logs faster than the runtime reads drops lines and reports their number (I12)", () => {
  const memory = newLogMemory();
  const lines: Parameters<Parameters<typeof lineSender>[1]>[0][] = [];
  const log = lineSender(memory, (line) => void lines.push(line));
  for (let i = 0; i < LINES_MAX + 7; i++) log("info", `line ${i}`, {});
  expect(lines).toHaveLength(LINES_MAX);
  const read = collectLogs();
  for (const line of lines.splice(0)) receiveLine(memory, line, read.sink);
  log("info", "capacity again", {});
  expect(lines.map(({ message }) => message)).toEqual([
    expect.stringContaining("7 log lines"),
    "capacity again",
  ]);
  expect(read.lines).toHaveLength(LINES_MAX);
});
