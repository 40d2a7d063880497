// perdure migrate with two stores, in a separate process: its output, its refusals, and SIGKILL in the middle.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { checksumOf } from "../../../src/core/values/checksum.ts";
import { Perdure } from "../../../src/index.ts";
import { postgres } from "../../support/postgres.ts";
import { Project, runOnTerminal, until } from "./support.ts";

interface MigrationResult {
  readonly result: string;
  readonly resumed?: boolean;
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
}

/** A separate database, because an address cannot name a schema. */
async function ownDatabase(): Promise<string> {
  const { url, query } = await postgres();
  const name = `cli_${randomBytes(6).toString("hex")}`;
  await query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await query(`DROP DATABASE ${name} WITH (FORCE)`)));
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

/** A store with some instances created through a client, and `many` more rows inserted directly. */
async function filled(project: Project, many = 0): Promise<void> {
  const perdure = await Perdure.open(`sqlite:${project.file}`, { autoStart: false });
  const { client } = perdure;
  const ids = ["a", "b", "c"];
  await Promise.all(ids.map((id) => client.start("unregistered", undefined, { id })));
  await client.raise("d", "early", 1, { ifMissing: "keep" });
  await perdure.close();
  using database = new DatabaseSync(project.file);
  const insert = database.prepare(`
    INSERT INTO history (instance, execution, first, last, data, checksum)
    VALUES (1, ?, 1, 1, ?, ?)`);
  database.exec("BEGIN");
  for (let n = 1; n <= many; n++) {
    insert.run(n, `row ${n}`, checksumOf(1, n, 1, 1, `row ${n}`));
  }
  database.exec("COMMIT");
}

/** Runs the command in this process, which is much faster than a new one. */
async function here(project: Project, line: readonly string[]) {
  const env = { NO_COLOR: "1", PERDURE_STORE: `sqlite:${project.file}` };
  const ran = await runOnTerminal(line, { cwd: project.folder, env });
  return { ...ran, json: <Shape = unknown>() => JSON.parse(ran.stdout) as Shape };
}

const rowsOf = ({ tables }: MigrationResult) => tables.map(({ table, rows }) => [table, rows]);

test("a store moves to PostgreSQL and back, with counts and checksums; a dry run writes nothing", async () => {
  const project = new Project();
  await filled(project);
  const [source, home] = [`sqlite:${project.file}`, `sqlite:${join(project.folder, "home.db")}`];
  const target = await ownDatabase();
  const dry = await here(project, ["migrate", source, home, "--dry-run", "--json"]);
  expect(dry).toMatchObject({ code: 0 });
  expect(dry.json()).toMatchObject({ from: source, to: home, result: "planned", resumes: false });
  expect(existsSync(join(project.folder, "home.db"))).toBe(false);

  const there = await project.run(["migrate", source, target, "--json"]);
  expect(there).toMatchObject({ code: 0 });
  expect(there.json()).toMatchObject({ result: "moved", resumed: false });
  expect(rowsOf(there.json<MigrationResult>())).toEqual(rowsOf(dry.json<MigrationResult>()));
  // A store that was moved can no longer be used: neither as the source of another move, nor for a start.
  const again = await here(project, ["migrate", source, home]);
  expect(again).toMatchObject({ code: 4 });
  expect(again.stderr).toContain("This store was moved to postgres://");
  const start = await here(project, ["start", "unregistered", "--json"]);
  expect(start).toMatchObject({ code: 4 });
  expect(JSON.parse(start.stderr)).toMatchObject({ error: { code: "STORE_MOVED" } });

  const doctor = await here(project, ["doctor", source]);
  expect(doctor).toMatchObject({ code: 8 });
  expect(doctor.stdout).toMatch(/✗ moved +This store was moved to postgres:/);

  const back = await here(project, ["migrate", target, home]);
  expect(back).toMatchObject({ code: 0 });
  expect(back.stdout).toMatch(/^instances +3 {2}[0-9a-f]{16}$/m);
  expect(back.stdout).toContain(`moved to ${home}`);
  expect(await here(project, ["list", home, "--json"])).toMatchObject({ code: 0 });
  const unmark = await here(project, ["migrate", "--unmark", source]);
  expect(unmark.stdout).toContain("can be used again");
  expect(await here(project, ["start", "unregistered"])).toMatchObject({ code: 0 });
});

test("SIGKILL in the middle: the same command continues, and all rows arrive", async () => {
  const project = new Project();
  await filled(project, 5_000);
  const target = await ownDatabase();
  const source = `sqlite:${project.file}`;
  await here(project, ["migrate", target]);
  const holder = new pg.Client({ connectionString: target });
  await holder.connect();
  onTestFinished(() => holder.end());
  const asked = async (sql: string) => (await holder.query<Record<string, unknown>>(sql)).rows;

  const first = project.start(["migrate", source, target]);
  // As soon as the target is marked, a lock on its last table stops the copy there, however fast it is.
  await until(
    async () => (await asked("SELECT to_regclass('perdure.move') AS mark"))[0]?.["mark"] !== null,
  );
  await holder.query("BEGIN; LOCK TABLE perdure.kept IN ACCESS EXCLUSIVE MODE");
  const waiting =
    "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'perdure.kept'::regclass";
  await until(async () => (await asked(waiting)).length > 0);
  first.kill("SIGKILL");
  expect(await first.ended).toBe("SIGKILL");
  await holder.query("ROLLBACK");

  // Neither store is usable now, and no other source may be copied over the partial copy.
  const started = await here(project, ["start", "unregistered", "--store", target]);
  expect(started).toMatchObject({ code: 4 });
  expect(started.stderr).toContain("unfinished copy");
  expect(await here(project, ["start", "unregistered"])).toMatchObject({ code: 4 });
  const other = new Project();
  await filled(other);
  const foreign = await here(project, ["migrate", `sqlite:${other.file}`, target]);
  expect(foreign).toMatchObject({ code: 4 });
  expect(foreign.stderr).toContain("STORE_NOT_EMPTY");

  const plan = (
    await here(project, ["migrate", source, target, "--dry-run", "--json"])
  ).json<MigrationResult>();
  expect(plan).toMatchObject({ result: "planned", resumes: true });
  const second = await project.run(["migrate", source, target, "--json"]);
  expect(second.stderr).toBe("");
  expect(second.json()).toMatchObject({ result: "moved", resumed: true });
  expect(rowsOf(second.json<MigrationResult>())).toEqual(rowsOf(plan));
  expect(rowsOf(plan)).toContainEqual(["history", 5_000]);
  expect((await here(project, ["list", target, "--json"])).json()).toMatchObject({
    items: [{ id: "c" }, { id: "b" }, { id: "a" }],
  });
});

test("a live worker, a target that is not empty and wrong arguments are refused with a reason", async () => {
  const project = new Project();
  await filled(project);
  const source = `sqlite:${project.file}`;
  const perdure = await Perdure.open(source, { runtime: { log: () => undefined } });
  const used = await here(project, ["migrate", source, "sqlite:new.db"]);
  expect(used).toMatchObject({ code: 4 });
  expect(used.stderr).toContain("alive on the sqlite store");
  expect(existsSync(join(project.folder, "new.db"))).toBe(false);
  await perdure.close();
  const other = new Project();
  await filled(other);
  const refusals: readonly (readonly [line: readonly string[], code: number, message: string])[] = [
    [[source, `sqlite:${other.file}`], 4, "STORE_NOT_EMPTY"],
    [[source, source], 2, "cannot move to itself"],
    [[source, "nowhere"], 2, "not the address of a store"],
    [["sqlite:nothing.db", source], 5, "There is no store"],
    [[source, "sqlite:new.db", "--store", source], 2, "--store cannot be used"],
    [[source, "sqlite:new.db", "--verify"], 2, "--verify cannot be used with"],
    [[source, "--again"], 2, "--again cannot be used without"],
    [[source, "--verify", "--unmark"], 2, "cannot be used together"],
    [[source, "sqlite:a.db", "sqlite:b.db"], 2, "too many arguments"],
  ];
  for (const [line, code, message] of refusals) {
    const { stderr, code: ended } = await here(project, ["migrate", ...line]);
    expect([line, ended]).toEqual([line, code]);
    expect(stderr).toContain(message);
  }
});
