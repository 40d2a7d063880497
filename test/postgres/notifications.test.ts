// Notifications between processes: pushed, addressed, made anew when they break, and never relied upon (W1, W2).

import { describe, expect, onTestFinished, test } from "vitest";
import { activity, Client, event, orchestration, type News } from "../../src/index.ts";
import type { PostgresProvider } from "../../src/postgres/index.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  eventText,
  fresh,
  newTask,
  sendItem,
  startItem,
  turnItem,
} from "../../src/testing/conformance/fixture.ts";
import { postgres } from "../support/postgres.ts";
import { openStore, openStoreFor, ownSchema, startRuntime, until } from "./support.ts";

function listen(provider: PostgresProvider): News[] {
  const heard: News[] = [];
  onTestFinished(provider.subscribe((news) => heard.push(news)));
  return heard;
}

/** Waits until a listener has heard of an instance that is told last, so that what is missing was not sent. */
async function heardAll(heard: readonly News[], teller: PostgresProvider): Promise<void> {
  const id = `last-${fresh()}`;
  await teller.commit([startItem({ id })]);
  await teller.deleteInstance({ id, force: true });
  await until("the last news is heard", () => heard.some(({ changed }) => changed.includes(id)));
}

const LEASE = { limit: 1, allowSuspect: false, messagesMax: 1 };

describe("news from another process", () => {
  test("says what it is about, not only that there is something", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    const heard = listen(here);
    await there.commit([startItem({ id: "a" })]);
    await until("the start is heard", () => heard.some(({ due }) => due.includes("a")));
    expect(heard.every(({ elsewhere }) => !elsewhere)).toBe(true);
    await there.deleteInstance({ id: "a", force: true });
    await until("the end is heard", () => heard.some(({ changed }) => changed.includes("a")));
  });

  test("is not told to who could not take it, and is to who could", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    await here.leaseInstances({ ...LEASE, owner: BETA, token: fresh(), targets: ["mine"] });
    const heard = listen(here);
    await there.commit([startItem({ id: "a", name: "theirs" })]);
    await there.commit([startItem({ id: "b", name: "mine" })]);
    await heardAll(heard, there);
    const due = heard.flatMap((news) => news.due);
    expect(due).toContain("b");
    expect(due).not.toContain("a");
  });

  test("about an instance goes to who holds it, and to nobody else", async () => {
    const schema = ownSchema();
    const mine = await openStoreFor([ALPHA], { schema });
    const other = await openStoreFor([BETA], { schema });
    const sender = await openStore({ schema });
    const token = fresh();
    await mine.commit([startItem({ id: "a", lease: { owner: ALPHA, token } })]);
    const [owners, others] = [listen(mine), listen(other)];
    await sender.commit([sendItem({ id: "a" })]);
    await heardAll(owners, sender);
    await heardAll(others, sender);
    expect(owners.flatMap(({ due }) => due)).toContain("a");
    expect(others.flatMap(({ due }) => due)).not.toContain("a");
  });

  test("about a task goes to who runs tasks of that name", async () => {
    const schema = ownSchema();
    const worker = await openStoreFor([ALPHA], { schema });
    const other = await openStoreFor([BETA], { schema });
    const teller = await openStore({ schema });
    const tasks = { limit: 1, tags: "any", sessions: null, allowSuspect: false } as const;
    await worker.leaseTasks({ ...tasks, owner: ALPHA, token: fresh(), names: [CHARGE] });
    await other.leaseTasks({ ...tasks, owner: BETA, token: fresh(), names: ["another"] });
    const token = fresh();
    const item = startItem({ id: "a", lease: { owner: ALPHA, token } });
    const [result] = await teller.commit([item]);
    const key = result?.kind === "started" ? result.key : -1;
    const [workers, others] = [listen(worker), listen(other)];
    const held = { id: "a", runId: item.runId, key, execution: 1, token, lastEvent: 0 };
    await teller.commit([
      turnItem(held, { events: [eventText()], tasks: [newTask({ sequence: 2 })] }),
    ]);
    await heardAll(workers, teller);
    await heardAll(others, teller);
    expect(workers.some((news) => news.tasks)).toBe(true);
    expect(others.some((news) => news.tasks)).toBe(false);
  });

  test("too long to be told in full says that there is something", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    const heard = listen(here);
    const long = Array.from({ length: 250 }, (_, i) =>
      startItem({ id: `${"x".repeat(200)}-${i}` }),
    );
    await there.commit(long);
    await until("it is heard", () => heard.some(({ elsewhere }) => elsewhere));
  });
});

describe("the connection that listens", () => {
  test("is made anew when it breaks, and tells to look at everything", async () => {
    const schema = ownSchema();
    const [here, there] = [await openStoreFor([BETA], { schema }), await openStore({ schema })];
    const heard = listen(here);
    const { query } = await postgres();
    await query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdure listener'",
    );
    await until("it listens again", () => heard.some(({ elsewhere }) => elsewhere));
    await there.commit([startItem({ id: "a" })]);
    await until("the start is heard", () => heard.some(({ due }) => due.includes("a")));
  });
});

describe("instances go on across processes", () => {
  const go = event<number>("go");
  const double = activity("double", async (n: number) => n * 2);
  const waits = orchestration("waits", async (ctx) => {
    const n = await ctx.event(go);
    return ctx.run(double, n);
  });

  test("at once, with notifications: nobody waits for a poll", async () => {
    const schema = ownSchema();
    const [worker, other] = [await openStore({ schema }), await openStore({ schema })];
    // A poll would come after a minute.
    await startRuntime(worker, [waits, double], { pollIntervalMs: 60_000, beatMs: 1_000 });
    const client = new Client(other);
    const handle = await client.start(waits, undefined);
    await handle.raise(go, 21);
    expect(await handle.result({ timeout: "20s" })).toBe(42);
  });

  test("by polling, without them", async () => {
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
