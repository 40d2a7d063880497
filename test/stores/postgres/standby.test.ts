// Servers that accept no writes: a hot standby, and a read-only role. Reads work, and writes fail at once with the reason.

import { expect, onTestFinished, test } from "vitest";
import { Client } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { Project } from "../../interfaces/cli/support.ts";
import { fastDirectory } from "../../support/fast-directory.ts";
import { postgres, SETTINGS, startServer } from "../../support/postgres.ts";
import { openStore, ownSchema, until, urlWith } from "./support.ts";

const CONFIG = `
  import { defineConfig, orchestration } from "perdure";
  export default defineConfig({ register: [orchestration("wait", async (ctx) => ctx.waitFor("go"))] });
`;

/** A separate server with one instance of "wait" in its store, turned into a standby. */
async function standby(): Promise<string> {
  const server = await startServer(fastDirectory(), { ...SETTINGS, shared_buffers: "16MB" });
  onTestFinished(() => server.close());
  const store = await PostgresProvider.open(server.url);
  await store.commit([startItem({ id: "a", name: "wait" })]);
  await store.close();
  await server.becomeStandby();
  return server.url;
}

test("a hot standby works with every command that only reads", async () => {
  const url = await standby();
  const project = new Project({ "perdure.config.ts": CONFIG });
  const run = (line: string) => project.run(line, { env: { PERDURE_STORE: url } });
  expect((await run("list --json")).json()).toMatchObject({ items: [{ id: "a" }] });
  expect((await run("get a --json")).json()).toMatchObject({ id: "a" });
  expect((await run("check --json")).json()).toMatchObject({ broken: [] });
  for (const line of ["history a", "kv a", "metrics", "queues", "runtimes", "migrate --verify"]) {
    expect([line, await run(line)]).toMatchObject([line, { code: 0, stderr: "" }]);
  }
  const doctor = await run("doctor --json");
  expect(doctor.code).toBe(8);
  expect(doctor.json<{ findings: unknown[] }>().findings).toContainEqual(
    expect.objectContaining({ check: "writable", level: "problem" }),
  );
  const watch = project.start("watch a", { env: { PERDURE_STORE: url } });
  await watch.says(/pending/);
  watch.kill("SIGINT");
  const ui = project.start("ui --read-only --no-open --port 0", { env: { PERDURE_STORE: url } });
  await ui.says(/Dashboard/);
  ui.kill("SIGINT");
  const cancel = await run("cancel a");
  expect(cancel.code).toBe(5);
  expect(cancel.stderr).toMatch(/standby.*target_session_attrs=read-write.*\(STORE_READ_ONLY\)/s);
  await Promise.all([watch.ended, ui.ended]);

  await expect(PostgresProvider.open(url)).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
  const store = await PostgresProvider.open(url, { readOnly: true });
  onTestFinished(() => store.close());
  const record = await store.readInstance("a");
  expect(await store.readInbox(record?.key ?? 0)).toMatchObject([{ kind: "start" }]);
  const refused = { code: "STORE_READ_ONLY" };
  await expect(store.commit([startItem({ id: "b" })])).rejects.toMatchObject(refused);
  await expect(store.deleteInstance({ id: "a", force: true })).rejects.toMatchObject(refused);
  const client = new Client(store);
  await expect(client.start("wait", undefined)).rejects.toMatchObject(refused);
  await expect(client.get("a").raise("go")).rejects.toMatchObject(refused);
  await expect(client.get("a").cancel()).rejects.toMatchObject(refused);
  expect(store.startLivenessThread).toBeUndefined();
});

test("a host is chosen by target_session_attrs at every new connection", async () => {
  const [follower, primary] = [new URL(await standby()), new URL((await postgres()).url)];
  const dead = "127.0.0.1:1";
  const open = async (hosts: readonly string[], session: string, readOnly = false) => {
    const query = `target_session_attrs=${session}&perdure.readOnly=${readOnly ? "on" : "off"}`;
    const address = `postgres://postgres@${hosts.join(",")}/postgres?${query}&perdure.poolSize=2`;
    const store = await PostgresProvider.open(address, { schema });
    onTestFinished(() => store.close());
    return (await store.inspect()).isStandby;
  };
  const schema = "perdure";
  const made = await PostgresProvider.open(primary.href, { schema });
  onTestFinished(async () => {
    await made.close();
    await (await postgres()).query("DROP SCHEMA perdure CASCADE");
  });
  const all = [dead, follower.host, primary.host];
  expect(await open(all, "read-write")).toBe(false);
  expect(await open(all, "primary")).toBe(false);
  expect(await open(all, "any", true)).toBe(true);
  expect(await open(all, "standby", true)).toBe(true);
  expect(await open(all.toReversed(), "read-only", true)).toBe(true);
  expect(await open(all.toReversed(), "prefer-standby", true)).toBe(true);
  expect(await open([primary.host], "prefer-standby")).toBe(false);
  const none = open([dead, follower.host], "read-write");
  await expect(none).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await expect(none).rejects.toThrow(/127\.0\.0\.1:1 .*; 127\.0\.0\.1:\d+ is not read-write/);
  await expect(open([primary.host], "standby", true)).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
  });
});

test("turns, heartbeats and notifications work over the second host", async () => {
  const { host } = new URL((await postgres()).url);
  const query = `target_session_attrs=read-write&perdure.schema=${ownSchema()}`;
  const address = `postgres://postgres@127.0.0.1:1,${host}/postgres?${query}`;
  const store = await PostgresProvider.open(address);
  onTestFinished(() => store.close());
  const { Runtime, Client, orchestration } = await import("../../../src/index.ts");
  const hello = orchestration("hello", async (ctx) => ctx.waitFor("go"));
  const log = (): void => undefined;
  const runtime = new Runtime(store, { register: [hello], log, beatMs: 50, staleMs: 1_000 });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  const handle = await new Client(store).start(hello, undefined);
  await handle.raise("go", "went");
  expect(await handle.result()).toBe("went");
  const beats = async () => (await store.listRuntimes())[0]?.beatAt ?? 0;
  const first = await beats();
  await until("the liveness thread sends heartbeats", async () => (await beats()) > first);
});

test("a read-only role is refused with the way out, and can open the store read-only", async () => {
  const schema = ownSchema();
  const { query } = await postgres();
  await (await openStore({ schema })).commit([startItem({ id: "a" })]);
  const role = `reader_${schema}`;
  await query(`CREATE ROLE ${role} LOGIN SUPERUSER`);
  await query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
  onTestFinished(() => query(`DROP ROLE ${role}`).then(() => undefined));
  const target = await urlWith((url) => (url.username = role));
  const opening = PostgresProvider.open(target, { schema });
  await expect(opening).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
  await expect(opening).rejects.toThrow(`ALTER ROLE "${role}" SET default_transaction_read_only`);
  const store = await openStore({ target, schema, readOnly: true });
  expect(await store.readInstance("a")).toMatchObject({ id: "a" });
});
