// The same commands on PostgreSQL.

import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { checkPostgres } from "../../../src/cli/doctor/postgres.ts";
import type { ServerInspection } from "../../../src/postgres/index.ts";
import { postgres } from "../../support/postgres.ts";
import { Project } from "./support.ts";

const CONFIG = `
  import { activity, defineConfig, orchestration } from "perdure";
  const charge = activity("charge", async (cents: number) => cents * 2);
  const pay = orchestration("pay", async (ctx, cents: number) => ctx.run(charge, cents));
  export default defineConfig({ register: [pay, charge] });
`;

/** A separate database, because an address cannot name a schema. */
async function ownDatabase(): Promise<string> {
  const { url, query } = await postgres();
  const name = `cli_${randomBytes(6).toString("hex")}`;
  await query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await query(`DROP DATABASE ${name} WITH (FORCE)`)));
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.toString();
}

test("a store is created, used, listed, checked and passes doctor", async () => {
  const env = { PERDURE_STORE: await ownDatabase() };
  const project = new Project({ "perdure.config.ts": CONFIG });
  const run = (line: string) => project.run(line, { env });

  const missing = await run("migrate --verify");
  expect(missing).toMatchObject({ code: 8 });
  expect(missing.stdout).toContain("Missing: 0001-initial.sql");
  const list = await run("list"); // a command that only reads creates nothing
  expect(list).toMatchObject({ code: 5 });
  expect((await run("migrate --json")).json()).toMatchObject({ result: "applied" });
  expect(await run("migrate --verify")).toMatchObject({ code: 0 });

  const worker = project.start("worker --processes 2 --json", { env });
  await worker.says(/worker ready/, 2);
  expect(await run("start pay --input 21 --id p --wait")).toMatchObject({
    code: 0,
    stdout: "42\n",
  });
  expect((await run("get p --json")).json()).toMatchObject({ status: "completed", output: 42 });
  expect((await run("list --json")).json()).toMatchObject({ items: [{ id: "p" }] });
  expect((await run("check --status ended --json")).json()).toMatchObject({ checked: 1, ok: 1 });
  const doctor = await run("doctor --json");
  expect(doctor.json()).toMatchObject({ ok: true });
  expect(doctor.code).toBe(0);
  const { findings } = doctor.json() as { findings: { check: string; message: string }[] };
  const messages = new Map(findings.map(({ check, message }) => [check, message]));
  expect(messages.get("server-version")).toMatch(/^PostgreSQL \d+\.\d+/);
  expect(messages.get("connections")).toMatch(/^\d+ of \d+ in use; a process opens up to 17$/);
  for (const check of ["writable", "fsync", "page-writes", "commit-default", "autovacuum"])
    expect([check, messages.has(check)]).toEqual([check, true]);
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
});

test("doctor finds a database that refuses writes, and mentions a weaker default that does no harm", async () => {
  const store = await ownDatabase();
  const name = new URL(store).pathname.slice(1);
  const project = new Project();
  expect(await project.run(`migrate ${store}`)).toMatchObject({ code: 0 });
  const { query } = await postgres();
  await query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  const { code, stdout } = await project.run(`doctor ${store}`);
  expect(stdout).toMatch(/✗ writable +default_transaction_read_only is on/);
  expect(stdout).toMatch(
    /✓ commit-default +the server's default is off; Perdure sets synchronous_commit for each write/,
  );
  expect(code).toBe(8);
});

const FIT: ServerInspection = {
  version: "18.4",
  versionNumber: 180_004,
  fsync: "on",
  fullPageWrites: "on",
  synchronousCommit: "on",
  autovacuum: "on",
  isStandby: false,
  isReadOnly: false,
  connections: { max: 97, used: 20, eachProcess: 17 },
  miscounts: [],
};

test.each<[string, Partial<ServerInspection>, string]>([
  ["server-version", { version: "13.2", versionNumber: 130_002 }, "problem"],
  ["writable", { isStandby: true }, "problem"],
  ["writable", { isReadOnly: true }, "problem"],
  ["fsync", { fsync: "off" }, "problem"],
  ["page-writes", { fullPageWrites: "off" }, "warning"],
  ["autovacuum", { autovacuum: "off" }, "warning"],
  ["metrics", { miscounts: ["status failed, events: metrics report 1 too few"] }, "problem"],
  ["connections", { connections: { max: 97, used: 90, eachProcess: 17 } }, "warning"],
  ["connections", { connections: { max: 97, used: 20, eachProcess: 30 } }, "warning"],
])("doctor checks %s by the server's settings: %j is a %s", (check, wrong, level) => {
  expect(checkPostgres(FIT, 4).filter((one) => one.level !== "ok")).toEqual([]);
  const found = checkPostgres({ ...FIT, ...wrong }, 4).filter((one) => one.level !== "ok");
  expect(found).toMatchObject([{ check, level, hint: expect.any(String) as string }]);
});

test("an unreachable server is exit code 5, and its password is not shown", async () => {
  const project = new Project();
  const { code, stderr } = await project.run("list postgres://ada:secret@127.0.0.1:1/none");
  expect(code).toBe(5);
  expect(stderr).not.toContain("secret");
});
