// Work that no running worker accepts is shown in describe, queues, metrics and a rate-limited log line (14).

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { startRuntime, virtualStore, virtualWorld } from "../../faults/trouble/support.ts";

const print = activity("print", (page: string) => `${page} printed`);
const calls = orchestration("calls", async (ctx, tags: string[]) =>
  ctx.run("print", "page", { tags }),
);
const MINUTE_MS = 60_000;

test("an unregistered activity is named in describe, queues, metrics and the log", async () => {
  const { client, environment, logs, runtime, provider } = await virtualWorld([calls], {
    workerNodeId: "node-1",
  });
  const handle = await client.start(calls, [], { id: "a" });
  await environment.advance(MINUTE_MS);
  const reason = 'no running worker registers activity "print"';
  expect((await handle.describe()).waitingFor).toMatchObject([
    { name: "print", unclaimed: reason },
  ]);
  expect(await client.queues()).toMatchObject([{ name: "print", depth: 1, unclaimed: reason }]);
  expect((await client.metrics()).unclaimed).toMatchObject([
    { kind: "activity", name: "print", tags: [], reason },
  ]);
  const lines = logs.lines.filter(({ message }) => message.includes("register`"));
  expect(lines).toMatchObject([
    {
      level: "warn",
      message: `${reason}; add it to \`register\``,
      fields: { activity: "print", tags: [], alive: ["node-1"] },
    },
  ]);

  await startRuntime(provider, [print]);
  expect(await handle.result()).toBe("page printed");
  expect(runtime.stats().activities.started).toBe(0);
});

test("a process that schedules unregistered work logs it at once with the way to fix it", async () => {
  const parent = orchestration("parent", (ctx) => ctx.run("missing child", null));
  const { client, environment, logs, provider } = await virtualWorld([calls, parent]);
  await client.start(calls, [], { id: "a" });
  await client.start(parent, undefined, { id: "b" });
  await client.start("missing", null, { id: "c" });
  await client.start("calls", [], { id: "d", version: "7.0.0" });
  await environment.advance(100);
  expect(logs.lines.map(({ level, message }) => `${level} ${message}`).toSorted()).toEqual([
    'warn no running worker registers activity "missing child"; add it to `register`',
    'warn no running worker registers activity "print"; add it to `register`',
    'warn no running worker registers orchestration "missing"; add it to `register`',
    'warn no running worker registers version 7.0.0 of orchestration "calls"; add it to `register`',
  ]);

  // Another worker registers the work, so nothing is missing.
  const quiet = await startRuntime(provider, [print, orchestration("missing", async () => "done")]);
  const before = logs.lines.length;
  await environment.advance(6_000);
  await client.start(calls, [], { id: "e" });
  expect(await (await client.start("missing", null, { id: "f" })).result()).toBe("done");
  expect(logs.lines.slice(before)).toEqual([]);
  await quiet.shutdown({ graceMs: 0 });
});

test("unregistered orchestrations that a turn starts detached, or starts by asking, are logged", async () => {
  const sender = orchestration("sender", async (ctx) => {
    void ctx.startDetached("missing", null, { id: "detached" });
    await ctx.ask("asked", "question", null, { start: { orchestration: "other", input: null } });
  });
  const { client, environment, logs } = await virtualWorld([sender]);
  await client.start(sender, undefined, { id: "a" });
  await environment.advance(100);
  expect(logs.lines.map(({ message }) => message).toSorted()).toEqual([
    'no running worker registers orchestration "missing"; add it to `register`',
    'no running worker registers orchestration "other"; add it to `register`',
  ]);
});

test("describe and the log name the tags that no worker has", async () => {
  const { client, environment, logs } = await virtualWorld([calls, print]);
  const handle = await client.start(calls, ["gpu", "eu"], { id: "a" });
  await environment.advance(MINUTE_MS);
  const reason = 'no running worker that registers activity "print" has the tags eu, gpu';
  expect((await handle.describe()).waitingFor).toMatchObject([{ unclaimed: reason }]);
  expect(logs.lines.filter(({ message }) => message.endsWith(reason))).toHaveLength(1);
});

test("an untagged task has a separate reason if all workers accept only tagged tasks", async () => {
  const { client, environment } = await virtualWorld([calls, print], {
    tags: { tags: ["gpu"], untagged: false },
  });
  const handle = await client.start(calls, [], { id: "a" });
  await environment.advance(10);
  expect((await handle.describe()).waitingFor).toMatchObject([
    { unclaimed: 'every running worker that registers activity "print" accepts tagged tasks only' },
  ]);
});

test("an unregistered orchestration or version is named in describe, metrics and the log", async () => {
  const { client, environment, logs } = await virtualWorld([calls]);
  const unknown = await client.start("unknown", null, { id: "u" });
  const version = await client.start("calls", [], { id: "v", version: "7.0.0" });
  await environment.advance(MINUTE_MS);
  expect((await unknown.describe()).unclaimed).toBe(
    'no running worker registers orchestration "unknown"',
  );
  expect((await version.describe()).unclaimed).toBe(
    'no running worker registers version 7.0.0 of orchestration "calls"',
  );
  expect(logs.lines.filter(({ message }) => message.includes("register`"))).toHaveLength(2);
  expect((await client.metrics()).unclaimed).toMatchObject([
    { kind: "orchestration", name: "calls", version: "7.0.0" },
    { kind: "orchestration", name: "unknown", version: undefined },
  ]);
});

test("the log line is repeated at most every five minutes", async () => {
  const { client, environment, logs } = await virtualWorld([calls]);
  for (let n = 0; n < 20; n++) await client.start(calls, [], { id: `i${n}` });
  await environment.advance(11 * MINUTE_MS);
  expect(logs.lines.filter(({ message }) => message.includes("register`"))).toHaveLength(3);
});

test("busy, delayed and paused work is not reported as unclaimed", async () => {
  const { client, environment, logs } = await virtualWorld([calls, print], {
    activityConcurrency: 0,
  });
  const busy = await client.start(calls, [], { id: "busy" });
  const later = await client.start("unknown", null, { id: "later", delay: "1h" });
  const paused = await client.start("unknown", null, { id: "paused" });
  await paused.pause("for lunch");
  await environment.advance(MINUTE_MS);
  expect((await busy.describe()).waitingFor).toMatchObject([{ name: "print" }]);
  expect((await busy.describe()).waitingFor[0]).not.toHaveProperty("unclaimed");
  // The process that started "unknown" reported it at once, before the instance was paused.
  expect(logs.lines.map(({ message }) => message)).toEqual([
    'no running worker registers orchestration "unknown"; add it to `register`',
  ]);
  expect((await later.describe()).status).toBe("pending");
});

test("client.runtimes shows the definitions, tags and load of each runtime", async () => {
  const { client, environment, runtime } = await virtualWorld([calls, print], {
    tags: { tags: ["gpu"], untagged: true },
  });
  await client.start(calls, ["eu"], { id: "a" });
  await environment.advance(10);
  expect(await client.runtimes()).toMatchObject([
    {
      id: runtime.id,
      registered: {
        activities: ["print"],
        orchestrations: { calls: ["1.0.0"] },
        tags: { tags: ["gpu"], untagged: true },
      },
      load: { instances: 1, tasks: 0 },
    },
  ]);
});

test("with the option `unregistered`, unregistered work fails after its last wait and not before", async () => {
  const unregistered = { backoff: { base: "1s", max: "8s" }, failAfter: 5 } as const; // 1+2+4+8+8 = 23 s
  const { client, environment } = await virtualWorld([calls], { unregistered });
  const handle = await client.start(calls, ["x"], { id: "a" });
  const orphan = await client.start("unknown", null, { id: "b" });
  await environment.advance(22_000);
  expect((await handle.describe()).status).toBe("running");
  expect((await orphan.describe()).status).toBe("pending");
  await environment.advance(12_000);
  await expect(handle.result()).rejects.toMatchObject({
    kind: "failed",
    cause: {
      cause: {
        name: "NotRegisteredError",
        message: 'unregistered: no running worker registers activity "print"',
      },
    },
  });
  await expect(orphan.result()).rejects.toMatchObject({
    kind: "failed",
    cause: { message: 'unregistered: no running worker registers orchestration "unknown"' },
  });
});

test("the option `unregistered` does not fail registered work, work that lacks only tags, or recent work", async () => {
  const unregistered = { backoff: { base: "1s", max: "1s" }, failAfter: 20 } as const;
  const { client, environment, provider } = await virtualWorld([calls], { unregistered });
  const other = await startRuntime(provider, [print], { activityConcurrency: 0 });
  const tagged = await client.start(calls, ["gpu"], { id: "tags" });
  const plain = await client.start(calls, [], { id: "plain" });
  await environment.advance(MINUTE_MS);
  expect((await tagged.describe()).status).toBe("running");
  expect((await plain.describe()).status).toBe("running");
  await other.shutdown({ graceMs: 0 });
  const recent = await client.start(calls, [], { id: "recent" });
  await environment.advance(11_000); // one check; only the recent instance has waited less than 20 s
  expect((await plain.describe()).status).toBe("failed");
  expect((await recent.describe()).status).toBe("running");
});

test.each<[string, unknown]>([
  ["a number", 5],
  ["an unknown member", { retries: 1 }],
  ["no tries", { failAfter: 0 }],
  ["a bad duration", { backoff: { base: "soon" } }],
])("unregistered with %s is refused", async (_, unregistered) => {
  const { provider } = await virtualStore();
  const starting = startRuntime(provider, [], { unregistered: unregistered as never });
  await expect(starting).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});
