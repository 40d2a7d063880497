// A failover to a real standby that lacks the last commits of its primary. The workers keep running on an address with
// both hosts, and no instance stays stuck.

import { expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { fastDirectory } from "../../support/fast-directory.ts";
import { SETTINGS, startServer } from "../../support/postgres.ts";
import { startRuntime, until } from "./support.ts";

const JOBS = 20;

test("instances whose end was lost in a failover run to their end again on the promoted standby", async () => {
  const settings = { ...SETTINGS, shared_buffers: "32MB" };
  const primary = await startServer(fastDirectory(), settings);
  onTestFinished(() => primary.close());
  await PostgresProvider.migrate(primary.url, { schema: "tail" });
  const standby = await primary.addStandby();
  onTestFinished(() => standby.close());
  const hosts = [primary, standby].map(({ url }) => new URL(url).host).join(",");
  const address = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
  const provider = await PostgresProvider.open(address, { schema: "tail", poolSize: 4 });
  onTestFinished(() => provider.close());
  const gate = Promise.withResolvers<void>();
  let entered = 0;
  const work = activity("work", async (value: number) => {
    entered++;
    await gate.promise;
    return value;
  });
  const main = orchestration("main", async (ctx, value: number) => {
    const first = await ctx.run(work, value);
    return first + (await ctx.step("step", async () => 1));
  });
  const { client } = await startRuntime(provider, [main, work]);
  const handles = await Promise.all(
    Array.from({ length: JOBS }, (_, n) => client.start(main, n, { id: `job-${n}` })),
  );
  await until("every activity runs", () => entered === JOBS);

  const [{ written } = {}] = await primary.query("SELECT pg_current_wal_lsn()::text AS written");
  const received = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has";
  await until(
    "the standby has every start",
    async () => (await standby.query(received, [written]))[0]?.["has"] === true,
  );
  await standby.query("ALTER SYSTEM SET primary_conninfo = ''");
  await standby.query("SELECT pg_reload_conf()");
  const receivers = "SELECT 1 FROM pg_stat_wal_receiver";
  await until("the standby lags", async () => (await standby.query(receivers)).length === 0);
  gate.resolve();
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual(Array.from({ length: JOBS }, (_, n) => n + 1));
  const lost = await client.start(main, 0, { id: "lost" });
  expect(await lost.result()).toBe(1);

  await primary.crash();
  await standby.query("SELECT pg_promote()");
  await until(
    "every instance that the standby knows has ended again",
    async () => (await client.count({ status: ["completed"] }).catch(() => 0)) === JOBS,
    60_000,
  );
  expect(entered).toBe(2 * JOBS + 1); // the activities with lost outcomes ran again
  expect(await client.count({ idPrefix: "lost" })).toBe(0);
  const listening =
    "SELECT 1 FROM pg_stat_activity WHERE application_name IN ('perdure listener', 'perdure liveness')";
  await until("listener and liveness thread have followed", async () => {
    return (await standby.query(listening)).length === 2;
  });
  expect(await (await client.start(main, 6, { id: "lost" })).result()).toBe(7);
});
