// Notifications between processes: pushed, addressed, reconnected after a break, and never required (notifications.1, notifications.2).

import { createHash } from "node:crypto";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { activity, Client, event, orchestration, type News } from "../../../src/index.ts";
import type { PostgresProvider } from "../../../src/postgres/index.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  eventText,
  fresh,
  newTask,
  registration,
  sendItem,
  startItem,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStore, openStoreFor, ownSchema, startRuntime, until } from "./support.ts";

function listen(provider: PostgresProvider): News[] {
  const received: News[] = [];
  onTestFinished(provider.subscribe((news) => received.push(news)));
  return received;
}

/** Waits until a listener has received a final notification, so that missing notifications were not sent. */
async function receivedAll(received: readonly News[], sender: PostgresProvider): Promise<void> {
  const id = `last-${fresh()}`;
  await sender.commit([startItem({ id })]);
  await sender.deleteInstance({ id, force: true });
  await until("the final notification is received", () =>
    received.some(({ changed }) => changed.includes(id)),
  );
}

/** What the stores of a schema send to other processes. */
async function payloads(schema: string): Promise<string[]> {
  const client = new pg.Client((await postgres()).url);
  await client.connect();
  onTestFinished(() => client.end());
  const received: string[] = [];
  client.on("notification", ({ payload = "" }) => received.push(payload));
  await client.query(`LISTEN ${channelOf(schema)}`);
  return received;
}

function channelOf(schema: string): string {
  const digest = createHash("sha256").update(`"${schema}"`).digest("hex");
  return `perdure_${digest.slice(0, 32)}`;
}

const LEASE = { limit: 1, allowSuspect: false, messagesMax: 1 };

describe("a notification from another process", () => {
  test("names the changed instances", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    const received = listen(here);
    await there.commit([startItem({ id: "a" })]);
    await until("the start is received", () => received.some(({ due }) => due.includes("a")));
    expect(received.every(({ elsewhere }) => !elsewhere)).toBe(true);
    await there.deleteInstance({ id: "a", force: true });
    await until("the end is received", () => received.some(({ changed }) => changed.includes("a")));
  });

  test("goes only to processes that can run the instance", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    await here.leaseInstances({ ...LEASE, owner: BETA, token: fresh(), targets: ["mine"] });
    const received = listen(here);
    await there.commit([startItem({ id: "a", name: "theirs" })]);
    await there.commit([startItem({ id: "b", name: "mine" })]);
    await receivedAll(received, there);
    const due = received.flatMap((news) => news.due);
    expect(due).toContain("b");
    expect(due).not.toContain("a");
  });

  test("about a leased instance goes only to its owner", async () => {
    const schema = ownSchema();
    const mine = await openStoreFor([ALPHA], { schema });
    const other = await openStoreFor([BETA], { schema });
    const sender = await openStore({ schema });
    const token = fresh();
    await mine.commit([startItem({ id: "a", lease: { owner: ALPHA, token } })]);
    const [owners, others] = [listen(mine), listen(other)];
    await sender.commit([sendItem({ id: "a" })]);
    await receivedAll(owners, sender);
    await receivedAll(others, sender);
    expect(owners.flatMap(({ due }) => due)).toContain("a");
    expect(others.flatMap(({ due }) => due)).not.toContain("a");
  });

  test("is not sent about a message to an instance that the sender holds", async () => {
    const schema = ownSchema();
    const mine = await openStoreFor([ALPHA], { schema });
    await mine.commit([startItem({ id: "held", lease: { owner: ALPHA, token: fresh() } })]);
    const [received, sent] = [listen(mine), await payloads(schema)];
    await mine.commit([sendItem({ id: "held" })]);
    expect(received.flatMap(({ due }) => due)).toContain("held");
    await mine.commit([startItem({ id: "last" })]);
    await until("the last notification is received", () =>
      sent.some((one) => one.includes("last")),
    );
    expect(sent.filter((one) => one.includes("held"))).toEqual([]);
  });

  test("about a task goes to processes that run tasks of that name", async () => {
    const schema = ownSchema();
    const worker = await openStoreFor([ALPHA], { schema });
    const other = await openStoreFor([BETA], { schema });
    const sender = await openStore({ schema });
    const tasks = { limit: 1, tags: "any", sessions: null, allowSuspect: false } as const;
    await worker.leaseTasks({ ...tasks, owner: ALPHA, token: fresh(), names: [CHARGE] });
    await other.leaseTasks({ ...tasks, owner: BETA, token: fresh(), names: ["another"] });
    const token = fresh();
    const item = startItem({ id: "a", lease: { owner: ALPHA, token } });
    const [result] = await sender.commit([item]);
    const key = result?.kind === "started" ? result.key : -1;
    const [workers, others] = [listen(worker), listen(other)];
    const held = { id: "a", runId: item.runId, key, execution: 1, token, lastEvent: 0 };
    await sender.commit([
      turnItem(held, { events: [eventText()], tasks: [newTask({ sequence: 2 })] }),
    ]);
    await receivedAll(workers, sender);
    await receivedAll(others, sender);
    expect(workers.some((news) => news.tasks)).toBe(true);
    expect(others.some((news) => news.tasks)).toBe(false);
  });

  test("that is too long becomes a notification to read everything", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    const received = listen(here);
    const long = Array.from({ length: 250 }, (_, i) =>
      startItem({ id: `${"x".repeat(200)}-${i}` }),
    );
    await there.commit(long);
    await until("the notification is received", () => received.some(({ elsewhere }) => elsewhere));
  });
});

describe("a notification about streams", () => {
  const write = (id: string, values = ["1"]) => {
    const token = fresh();
    const start = startItem({ id, lease: { owner: ALPHA, token } });
    const held = { id, runId: start.runId, key: 0, execution: 1, token, lastEvent: 0 };
    const streams = [{ name: "tokens", values }];
    return { ...start, firstTurn: turnItem(held, { events: [eventText()], streams }) };
  };

  test("names many instances in several messages, and does not make runtimes look for work", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    await there.registerRuntime(registration({ id: ALPHA }));
    const [received, sent] = [listen(here), await payloads(schema)];
    const ids = Array.from({ length: 200 }, (_, i) => `${"x".repeat(100)}-${i}`);
    await there.commit(ids.map((id) => write(id)));
    const streamed = () => received.flatMap((news) => news.streamed ?? []);
    await until("all are received", () => streamed().length >= ids.length);
    expect(streamed().toSorted()).toEqual(ids.toSorted());
    expect(received.some(({ elsewhere }) => elsewhere)).toBe(false);
    // Another connection receives these, perhaps later.
    await until("several messages are received", () => sent.length > 2);
    expect(sent.every((payload) => Buffer.byteLength(payload) < 8_000)).toBe(true);
  });

  test("becomes a notification to read everything if it names too many instances", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    await there.registerRuntime(registration({ id: ALPHA }));
    const received = listen(here);
    const ids = Array.from({ length: 250 }, (_, i) => `${"x".repeat(400)}-${i}`);
    await there.commit(ids.map((id) => write(id)));
    await until("the notification is received", () => received.some(({ elsewhere }) => elsewhere));
  });
});

test("a notification with unknown members is ignored", async () => {
  const schema = ownSchema();
  const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
  const received = listen(here);
  const { query } = await postgres();
  const payload = JSON.stringify({ from: "a later version", told: { later: ["a"] } });
  await query("SELECT pg_notify($1, $2)", [channelOf(schema), payload]);
  await receivedAll(received, there);
  expect(received.every(({ elsewhere }) => !elsewhere)).toBe(true);
});

describe("the listening connection", () => {
  test("reconnects after a break and notifies to read everything", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    const received = listen(here);
    const { query } = await postgres();
    await query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdure listener'",
    );
    await until("the connection listens again", () => received.some(({ elsewhere }) => elsewhere));
    await there.commit([startItem({ id: "a" })]);
    await until("the start is received", () => received.some(({ due }) => due.includes("a")));
  });
});

describe("instances continue across processes", () => {
  const go = event<number>("go");
  const double = activity("double", async (n: number) => n * 2);
  const waits = orchestration("waits", async (ctx) => {
    const n = await ctx.waitFor(go);
    return ctx.run(double, n);
  });

  test("at once with notifications, without waiting for a poll", async () => {
    const schema = ownSchema();
    const [worker, other] = [await openStore({ schema }), await openStore({ schema })];
    // The first poll is after a minute.
    await startRuntime(worker, [waits, double], { pollIntervalMs: 60_000, beatMs: 1_000 });
    const client = new Client(other);
    const handle = await client.start(waits, undefined);
    await handle.raise(go, 21);
    expect(await handle.result({ timeout: "20s" })).toBe(42);
  });

  test("by polling without notifications", async () => {
    const schema = ownSchema();
    const options = { schema, notifications: false };
    const [worker, other] = [await openStore(options), await openStore(options)];
    await startRuntime(worker, [waits, double], { pollIntervalMs: 100 });
    const client = new Client(other);
    const handle = await client.start(waits, undefined);
    await handle.raise(go, 21);
    expect(await handle.result({ timeout: "20s" })).toBe(42);
  });
});
