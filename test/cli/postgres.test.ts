// The same commands on PostgreSQL.

import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { postgres } from "../support/postgres.ts";
import { Project } from "./support.ts";

const CONFIG = `
  import { activity, defineConfig, orchestration } from "perdure";
  const charge = activity("charge", async (cents: number) => cents * 2);
  const pay = orchestration("pay", async (ctx, cents: number) => ctx.run(charge, cents));
  export default defineConfig({ register: [pay, charge] });
`;

/** A database of its own, because an address names no schema. */
async function ownDatabase(): Promise<string> {
  const { url, query } = await postgres();
  const name = `cli_${randomBytes(6).toString("hex")}`;
  await query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await query(`DROP DATABASE ${name} WITH (FORCE)`)));
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.toString();
}

test("a store is made, worked on, looked at, checked and found in order", async () => {
  const env = { PERDURE_STORE: await ownDatabase() };
  const project = new Project({ "perdure.config.ts": CONFIG });
  const run = (line: string) => project.run(line, { env });

  const missing = await run("migrate --verify");
  expect(missing).toMatchObject({ code: 8 });
  expect(missing.stdout).toContain("Missing: 0001-initial.sql");
  const list = await run("list"); // a command that looks makes nothing
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
  worker.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
});

test("a server that is not there is exit code 5, and its password is not shown", async () => {
  const project = new Project();
  const { code, stderr } = await project.run("list postgres://ada:secret@127.0.0.1:1/none");
  expect(code).toBe(5);
  expect(stderr).not.toContain("secret");
});
