// Executors: where an activity runs is its own affair; what comes of it is the same everywhere (semantics 10 to 13).

import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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
} from "../../src/index.ts";
import { LINES_MAX, lineSender, newLogMemory, receiveLine } from "../../src/runtime/thread-log.ts";
import {
  collectLogs,
  memoryStore,
  refusalOf,
  startRuntime,
  temporaryFolder,
  until,
  virtualWorld,
} from "../trouble/support.ts";
import * as module from "./threads/activities.ts";

const MODULE = new URL("./threads/activities.ts", import.meta.url);
const WORK = Object.values(module).filter((value) => typeof value === "object");

/** Runs the orchestration `main`, and what it needs, with activities in threads. */
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

type Told = Pick<ActivityContext, "info" | "attempt" | "idempotencyKey">;
interface Call {
  readonly name: string;
  readonly input?: unknown;
  readonly retry?: number;
  readonly timeout?: number;
  readonly heartbeatTimeout?: number;
}

describe("what is refused", () => {
  test.each([
    ["a number", 5],
    ["a text", "threads"],
    ["null", null],
    ["an object", {}],
    ["something like threads", { kind: "threads" }],
    ["an executor's name", ["process"]],
  ])("an executor that is %s, when the runtime is made", async (_, executor) => {
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
    ["no thread at all", { module: MODULE, size: 0 }],
    ["half a thread", { module: MODULE, size: 0.5 }],
    ["no memory", { module: MODULE, memoryMb: 0 }],
    ["a misspelt option", { module: MODULE, sizes: 2 }],
  ])("threads with %s", async (_, options) => {
    const error = await refusalOf(() => threads(options as Parameters<typeof threads>[0]));
    expect(error.code).toBe("INVALID_ARGUMENT");
  });
});

/** A module in a text: activities are plain data, as a thread sees them. */
function moduleOf(...lines: readonly string[]): URL {
  const define = `const activity = (name) =>
    ({ kind: "activity", name, defaults: {}, options: {}, handler: () => name });`;
  return new URL(`data:text/javascript,${encodeURIComponent([define, ...lines].join("\n"))}`);
}

describe("a module that cannot run what is registered keeps the runtime from starting", () => {
  async function startWith(register: readonly Activity<never, unknown>[], options: RuntimeOptions) {
    const { provider } = await memoryStore();
    const error = await refusalOf(startRuntime(provider, register, options));
    expect(await provider.listRuntimes()).toEqual([]); // nothing was begun
    return error;
  }
  const [a, b, c] = ["a", "b", "c"].map((name) => activity(name, () => name));
  const all = [a, b, c].filter((definition) => definition !== undefined);

  test("it lacks activities: all of them are named, of every module", async () => {
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
    ["is not there", new URL("./nowhere.ts", import.meta.url), "nowhere.ts"],
    [
      "has two of one name",
      moduleOf("export const x = activity('a')", "export const y = activity('a')"),
      'two activities of the name "a"',
    ],
    ["has no codec", moduleOf("export const codec = 5"), "encode and decode"],
    ["ends its thread", moduleOf("process.exit(7)"), "exit code 7"],
  ])("it %s", async (_, address, why) => {
    const error = await startWith(all, { executor: threads({ module: address }) });
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain(why);
  });

  test("it has another codec than the runtime", async () => {
    const exports = "export const list = ['a', 'b', 'c'].map(activity)";
    const codec = { ...defaultCodec };
    const without = threads({ module: moduleOf(exports) });
    expect((await startWith(all, { executor: without, codec })).message).toContain("exports none");
    const withOne = "export const codec = { encode: String, decode: String }";
    const executor = threads({ module: moduleOf(exports, withOne) });
    expect((await startWith(all, { executor })).message).toContain("it exports a codec");
  });
});

describe("a function of one's own", () => {
  const double: StandardSchema<number> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => ({ value: (value as number) * 2 }),
    },
  };
  const main = orchestration("main", async (ctx, name: string) => ctx.run(name, new Date(5)));
  const plain = activity("plain", () => "its own function");

  test("is given name, decoded input and context; what it returns is the outcome", async () => {
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

  test("fails as a function of the activity's own does, and is retried", async () => {
    const executor: Executor = async ({ context }) => {
      context.heartbeat(context.attempt);
      if (context.attempt < 3) throw new TypeError("not yet");
      return context.lastHeartbeat;
    };
    const work = activity("work", () => "unused", { retry: 3, executor });
    const run = orchestration("run", (ctx) => ctx.run(work));
    const world = await virtualWorld([run, work]);
    const handle = await world.client.start(run);
    await world.environment.advance(1_000);
    expect(await handle.result({ timeout: 0 })).toBe(2);
  });

  test("stands between the activity's schemas", async () => {
    const executor: Executor = ({ input }) => (input as number) + 1;
    const work = activity("work", () => 0, { input: double, output: double, executor });
    const run = orchestration("run", (ctx) => ctx.run(work, 5));
    const world = await virtualWorld([run, work]);
    const handle = await world.client.start(run);
    await world.environment.settle();
    expect(await handle.result({ timeout: 0 })).toBe(22);
  });

  test("an activity's own choice goes before the runtime's", async () => {
    const here = activity("here", () => "here", { executor: "process" });
    const mine = activity("mine", () => "unused", { executor: () => "mine" });
    const world = await virtualWorld([main, here, mine, plain], { executor: () => "everybody's" });
    const results: unknown[] = [];
    for (const name of ["here", "mine", "plain"]) {
      const handle = await world.client.start(main, name);
      await world.environment.settle();
      results.push(await handle.result({ timeout: 0 }));
    }
    expect(results).toEqual(["here", "mine", "everybody's"]);
  });
});

describe("threads", () => {
  test("run activities outside the main thread, at most as many as there are threads", async () => {
    const { result } = await threadWorld(2);
    const places = await Promise.all(
      Array.from({ length: 12 }, (_, i) => result({ name: "where" }, `w${i}`)),
    );
    const ids = new Set(places.map((place) => (place as { threadId: number }).threadId));
    expect(places).toEqual(
      places.map(() => ({ isMainThread: false, threadId: expect.anything() })),
    );
    expect(ids.size).toBeLessThanOrEqual(2);
  });

  test("values cross exactly (I10)", async () => {
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

  test("an attempt is told there what it is told here", async () => {
    const toldBy = async (executor: Executor) => {
      const { result, runtime } = await threadWorld(1, { executor });
      const { info, attempt, idempotencyKey } = (await result({ name: "told" }, "i")) as Told;
      expect(info.worker).toBe(runtime.id);
      expect(idempotencyKey).toMatch(/^[0-9a-f]{32}:1:2$/);
      return { info: { ...info, worker: "" }, attempt };
    };
    expect(await toldBy(threads({ module: MODULE }))).toStrictEqual(await toldBy("process"));
  });

  test("log lines come out where the runtime's do, fields and all", async () => {
    const { result, logs } = await threadWorld(1);
    await result({ name: "logs" });
    await until("the line came", () => logs.lines.length > 0);
    expect(logs.lines[0]).toMatchObject({
      level: "info",
      message: "from a thread",
      fields: { instance: "logs", activity: "logs", at: new Date(7), odd: "Symbol(strange)" },
    });
    expect(logs.lines[0]?.fields["error"]).toBeInstanceOf(Error);
  });

  test("a failure comes back as the error it was", async () => {
    const { provider, client } = await memoryStore();
    const main = orchestration("main", async (ctx) => {
      const error = await ctx.run(module.fails, "plain", { retry: 2 }).catch((e: unknown) => e);
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

  test("retries are steered from there as from here", async () => {
    const { result, call } = await threadWorld(1);
    expect(await result({ name: "fails", input: "later", retry: 3 }, "later")).toBe(2);
    const final = await call({ name: "fails", input: "final", retry: 3 }, "final");
    await expect(final.result({ timeout: "30s" })).rejects.toThrow("never again");
    expect((await final.history()).at(2)).toMatchObject({ kind: "ActivityFailed", attempts: 1 });
  });

  test("what cannot be stored, and what a schema refuses, is refused there", async () => {
    const { result } = await threadWorld(1);
    await expect(result({ name: "unstorable", retry: 3 })).rejects.toThrow(/function/);
    await expect(result({ name: "checked", input: 0.5 })).rejects.toThrow("no whole number");
    expect(await result({ name: "checked", input: 4 }, "fine")).toBe(5);
  });

  test("a codec of one's own is the module's too", async () => {
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
    await until("it ended", async () => (await provider.readInstance("i"))?.output === "!5");
    expect((await handle.history()).find(({ kind }) => kind === "ActivityCompleted")).toMatchObject(
      {
        output: "!5",
      },
    );
  });

  test("the last heartbeat reaches the next attempt, though the thread's loop never turned", async () => {
    const { result } = await threadWorld(1);
    expect(await result({ name: "beats", input: 5_000, retry: 2 })).toEqual({ page: 5_000 });
  });

  test("one that falls silent has timed out", async () => {
    const { result } = await threadWorld(1, { cancelGraceMs: 0 });
    const silent = result({ name: "silent", heartbeatTimeout: 100 });
    await expect(silent).rejects.toThrow("timeout: activity heartbeat timed out");
    const slow = result({ name: "silent", timeout: 100 }, "slow");
    await expect(slow).rejects.toThrow("timeout: activity timed out");
  });

  test("its time begins when it is entered, not while it waits for a thread", async () => {
    const { call, result } = await threadWorld(1);
    await call({ name: "busy", input: 600 }, "first");
    expect(await result({ name: "busy", input: 1, timeout: 500 }, "second")).toBe(false);
  });
});

describe("what is cancelled in a thread", () => {
  test("hears of it, with the reason", async () => {
    const { call, logs } = await threadWorld(1);
    const handle = await call({ name: "waits" });
    await until("it waits", () => logs.about("waiting").length > 0);
    await handle.cancel("no more");
    await until("it heard", () => logs.about("aborted").length > 0);
    expect(logs.about("aborted")[0]?.fields).toMatchObject({
      name: "CancelledError",
      code: "CANCELLED",
      message: expect.stringContaining("no more"),
    });
  });

  test("and hears nothing is ended with its thread; the next one has a new thread", async () => {
    const { call, result, logs, runtime } = await threadWorld(1, { cancelGraceMs: 50 });
    const handle = await call({ name: "spins" });
    await until("it spins", () => logs.about("spinning").length > 0);
    const next = result({ name: "where" });
    await handle.cancel("no more");
    expect(await next).toMatchObject({ isMainThread: false });
    expect(runtime.stats().activities).toMatchObject({ cancelled: 1, died: 0, active: 0 });
    expect(logs.about("died")).toEqual([]);
  });

  test("while it waits for a thread is never entered", async () => {
    const { call, logs, runtime } = await threadWorld(1, { cancelGraceMs: 60_000 });
    const first = await call({ name: "waits" }, "first");
    const second = await call({ name: "spins" }, "second");
    await until("both are under way", () => runtime.stats().activities.active === 2);
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
    "by %s is a lost attempt of its own task, and of no other (13)",
    async (how) => {
      const { call, result, logs, runtime, client } = await threadWorld(2, { memoryMb: 32 });
      const neighbour = await call({ name: "waits" }, "neighbour");
      await until("the neighbour is there", () => logs.about("waiting").length > 0);
      // One attempt is all that the caller gives: a death uses up none.
      const input = { how, lives: 2 };
      expect(await result({ name: "dies", input, retry: 1 }, "culprit")).toBe(3);
      const outcome = (await client.get("culprit").history()).at(2);
      expect(outcome).toMatchObject({ kind: "ActivityCompleted", attempts: 3 });
      expect(runtime.stats().activities).toMatchObject({ died: 2, failed: 0, retried: 0 });
      expect(logs.about('died in activity "dies" of culprit')).toHaveLength(2);
      expect(logs.about("waiting")).toHaveLength(1); // nobody disturbed the neighbour
      await neighbour.cancel();
      await until("the neighbour ended", () => logs.about("aborted").length > 0);
    },
  );

  test("shows in what the instance waits for", async () => {
    const { call, provider, client } = await threadWorld(1, { attemptsMax: 100 });
    await call({ name: "dies", input: { how: "exit", lives: 100 } }, "culprit");
    const deaths = async () => {
      const [wait] = (await client.get("culprit").describe()).waitingFor;
      return wait?.kind === "activity" ? wait : undefined;
    };
    await until("it died once", async () => (await deaths())?.lastError !== undefined);
    expect(await deaths()).toMatchObject({ lastError: expect.stringContaining("exit code 3") });
    await until("it is suspect", async () => {
      const key = (await provider.readInstance("culprit"))?.key ?? 0;
      return (await provider.readTasks({ key, execution: 1 }))[0]?.suspect === true;
    });
  });

  test("again and again is poison in the end", async () => {
    const { provider, client } = await memoryStore();
    const main = orchestration("main", async (ctx) => {
      const error = await ctx
        .run(module.dies, { how: "exit", lives: 100 }, { retry: 5 })
        .catch((e: unknown) => e);
      return error instanceof ActivityError ? error.kind : error;
    });
    const executor = threads({ module: MODULE, size: 1 });
    await startRuntime(provider, [main, module.dies], { executor, attemptsMax: 2 });
    expect(await (await client.start(main)).result({ timeout: "30s" })).toBe("poison");
  });

  test("is replaced after a back-off, not before (I12)", async () => {
    const main = orchestration("main", (ctx) => ctx.run(module.dies, { how: "exit", lives: 1 }));
    const executor = threads({ module: MODULE, size: 1 });
    const world = await virtualWorld([main, module.dies], { executor });
    const handle = await world.client.start(main);
    await until("it died", () => world.logs.about("died").length > 0);
    await until("it waits again", () => world.runtime.stats().activities.started === 2);
    await world.environment.settle();
    expect(liveThreads()).toBe(0);
    await world.environment.advance(100);
    await until("there is a thread again", () => liveThreads() === 1);
    await until("it is over", () => world.runtime.stats().activities.completed === 1);
    await world.environment.settle();
    expect(await handle.result({ timeout: 0 })).toBe(2);
  });

  test("and whose module has lost an activity since is waited for; nothing is counted", async () => {
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
    await until("the loss was told", () => logs.about("does not export moody").length > 0);
    const [task] = await provider.readTasks({
      key: (await provider.readInstance("i"))?.key ?? 0,
      execution: 1,
    });
    expect(task).toMatchObject({ attempt: 1, suspect: false });
    rmSync(flag);
    expect(await handle.result({ timeout: "30s" })).toBe("survived");
    expect((await handle.history())[2]).toMatchObject({ kind: "ActivityCompleted", attempts: 2 });
  });

  test("is not one in which nobody waited for a rejected promise", async () => {
    const { result, logs } = await threadWorld(1);
    const first = await result({ name: "floats" }, "first");
    expect(await result({ name: "floats" }, "second")).toBe(first); // the same thread
    await until("it was told", () => logs.about("nobody was waiting").length === 2);
    expect(logs.about("nobody was waiting")[0]?.fields).toMatchObject({
      activity: "floats",
      instance: "first",
    });
  });
});

describe("at the end", () => {
  test("threads end with the runtime; what they ran is handed back and not counted", async () => {
    const { call, runtime, logs, provider } = await threadWorld(2);
    await call({ name: "waits" });
    await call({ name: "spins" });
    await until("both run", () => logs.lines.length === 2);
    expect(liveThreads()).toBe(2);
    const begun = performance.now();
    await runtime.shutdown({ graceMs: 100 });
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(liveThreads()).toBe(0);
    for (const id of ["waits", "spins"]) {
      const key = (await provider.readInstance(id))?.key ?? 0;
      const [task] = await provider.readTasks({ key, execution: 1 });
      expect(task).toMatchObject({ attempt: 0, owner: null, suspect: false, lastFailure: null });
    }
  });

  test("work that ends within the grace is waited for, and not done again", async () => {
    const { call, runtime, provider, main } = await threadWorld(1);
    const handle = await call({ name: "busy", input: 300 });
    await until("it is under way", () => runtime.stats().activities.active === 1);
    await runtime.shutdown();
    expect(liveThreads()).toBe(0);
    await startRuntime(provider, [main]); // it could not run the activity
    expect(await handle.result({ timeout: "30s" })).toBe(false);
  });
});

test("a thread that writes lines faster than they are read loses some, and says how many (I12)", () => {
  const memory = newLogMemory();
  const lines: Parameters<Parameters<typeof lineSender>[1]>[0][] = [];
  const log = lineSender(memory, (line) => void lines.push(line));
  for (let i = 0; i < LINES_MAX + 7; i++) log("info", `line ${i}`, {});
  expect(lines).toHaveLength(LINES_MAX);
  const read = collectLogs();
  for (const line of lines.splice(0)) receiveLine(memory, line, read.sink);
  log("info", "room again", {});
  expect(lines.map(({ message }) => message)).toEqual([
    expect.stringContaining("7 log lines"),
    "room again",
  ]);
  expect(read.lines).toHaveLength(LINES_MAX);
});
