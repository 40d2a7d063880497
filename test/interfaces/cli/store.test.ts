// The store as a whole: migrate, doctor, and which store a command uses.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { Client, orchestration, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { Project, until } from "./support.ts";

interface Report {
  readonly ok: boolean;
  readonly findings: readonly {
    readonly check: string;
    readonly level: string;
    readonly message: string;
    readonly details?: readonly string[];
  }[];
}
const found = ({ findings }: Report, level: string) =>
  findings.filter((finding) => finding.level === level).map(({ check }) => check);

describe("perdure migrate", () => {
  test("creates a store; --verify reports whether a migration is needed, and changes nothing", async () => {
    const project = new Project();
    const store = `sqlite:${project.file}`;
    const before = await project.run("migrate --verify --json");
    expect(before.code).toBe(8);
    expect(before.json()).toMatchObject({ store, result: "pending" });
    expect(existsSync(project.file)).toBe(false);
    expect((await project.run("migrate --json")).json()).toMatchObject({
      store,
      result: "applied",
    });
    expect((await project.run("migrate --json")).json()).toEqual({ store, result: "current" });
    expect(await project.run("migrate --verify")).toMatchObject({ code: 0 });
  });

  test("reports an old schema as pending, and no other command touches it", async () => {
    const project = new Project();
    writeFileSync(project.file, "");
    const verify = await project.run("migrate --verify");
    expect(verify).toMatchObject({ code: 8 });
    expect(verify.stdout).toContain("Missing: 0001-initial.sql");
    const list = await project.run("list");
    expect(list).toMatchObject({ code: 5, stdout: "" });
    expect(list.stderr).toContain("STORE_INVALID");
    expect(readFileSync(project.file, "utf8")).toBe("");
  });
});

describe("which store", () => {
  test("--store takes precedence over PERDURE_STORE, and PERDURE_STORE over the config", async () => {
    const project = new Project({
      "perdure.config.ts": `export default { store: "sqlite:./from-config.db" };`,
      "below/empty.txt": "",
    });
    const stores = { argument: "sqlite:argument.db", environment: "sqlite:environment.db" };
    for (const store of Object.values(stores)) await project.run(["migrate", store]);
    const env = { PERDURE_STORE: "" };
    await project.run("migrate", { env });
    expect(existsSync(join(project.folder, "from-config.db"))).toBe(true);

    const shown = async (line: string, options = {}) =>
      (await project.run(`${line} --json`, options)).json<{ store: string }>().store;
    const given = { env: { PERDURE_STORE: stores.environment } };
    expect(await shown(`doctor --store ${stores.argument}`, given)).toBe(stores.argument);
    expect(await shown(`doctor ${stores.argument}`, given)).toBe(stores.argument);
    expect(await shown("doctor", given)).toBe(stores.environment);
    // A relative path in the config is relative to the config file, wherever the command runs.
    const cwd = join(project.folder, "below");
    const fromConfig = `sqlite:${join(project.folder, "from-config.db")}`;
    expect(await shown("doctor", { env, cwd })).toBe(fromConfig);
  });

  test("no store, two stores, a missing store and an unsupported address are reported", async () => {
    const project = new Project();
    const none = await project.run("list", { env: { PERDURE_STORE: "" } });
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toContain("No store given");
    expect(await project.run("list sqlite:a.db --store sqlite:b.db")).toMatchObject({ code: 2 });
    const missing = await project.run("list");
    expect(missing).toMatchObject({ code: 5 });
    expect(missing.stderr).toContain(`There is no store at ${project.file}`);
    expect(existsSync(project.file)).toBe(false);
    const strange = await project.run("list mongodb://user:secret@host/db");
    expect(strange).toMatchObject({ code: 2 });
    expect(strange.stderr).toContain("mongodb://user:***@host/db");
    expect(strange.stderr).not.toContain("secret");
    writeFileSync(project.file, "this is not a database");
    expect(await project.run("list")).toMatchObject({ code: 5 });
  });

  test("a config may open its store itself; its errors and misspelled properties are reported", async () => {
    const opened = `
      import { SqliteProvider } from "perdure/sqlite";
      export default { store: () => SqliteProvider.open("${join("own.db")}") };`;
    const project = new Project({ "perdure.config.mjs": opened });
    const env = { PERDURE_STORE: "" };
    expect((await project.run("list --json", { env })).json()).toEqual({ items: [] });
    project.write("typo.ts", "export default { stor: 1 };");
    const typo = await project.run("list --config typo.ts", { env });
    expect(typo).toMatchObject({ code: 2 });
    expect(typo.stderr).toContain(
      'unknown property "stor"; it must be one of store, register, runtime',
    );
    project.write("throws.ts", "throw new Error('not today');");
    const throws = await project.run("list --config throws.ts --json", { env });
    expect(throws.code).toBe(2);
    expect(JSON.parse(throws.stderr)).toMatchObject({ error: { code: "CONFIG_INVALID" } });
    expect(throws.stderr).toContain("not today");
    expect(await project.run("list --no-config", { env })).toMatchObject({ code: 2 });
    expect(await project.run("list --config nothing.ts")).toMatchObject({ code: 2 });
  });
});

describe("a config that imports a file by a name that Node cannot resolve", () => {
  const files = {
    "trip.ts": "export const trip = 1;",
    "trips/index.ts": "export const trips = 1;",
    "lib/book.ts": "import '../trip';",
  };
  test.each([
    ["./trip", "./trip.ts"],
    ["./trip.js", "./trip.ts"],
    ["./trips", "./trips/index.ts"],
    ["./lib/book.ts", "../trip.ts"],
  ])("%s gets the hint %s", async (name, meant) => {
    const config = `import "${name}"; export default {};`;
    const project = new Project({ ...files, "perdure.config.ts": config });
    // Vitest would find the file.
    const { code, stderr } = await project.run("list", { asProcess: true });
    expect(code).toBe(2);
    expect(stderr).toContain(`Did you mean "${meant}"?`);
  });

  test("a file that does not exist with any extension gets no hint", async () => {
    const project = new Project({ ...files, "perdure.config.ts": 'import "./tripp";' });
    const { code, stderr } = await project.run("worker");
    expect(code).toBe(2);
    expect(stderr).toContain("tripp");
    expect(stderr).not.toContain("Did you mean");
  });
});

describe("perdure doctor", () => {
  const stuck = orchestration("stuck", async () => new Promise(() => undefined));

  test("exits with 0 for a healthy store", async () => {
    const project = new Project();
    await project.run("migrate");
    const { code, stdout } = await project.run("doctor --thorough");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /✓ store +sqlite, durability full: WAL, every commit is synced before it is acknowledged/,
    );
    expect(stdout).toMatch(/✓ sqlite-version +SQLite 3\.\d+/);
    expect(stdout).toMatch(/✓ integrity +all pages are intact/);
    expect(stdout).toMatch(/✓ metrics +the metrics match/);
    expect(stdout).toMatch(/✓ checksums +all 0 rows match/);
    expect(stdout).not.toMatch(/[✗!]/);
    const report = (await project.run("doctor --json")).json<Report>();
    expect(report.ok).toBe(true);
    expect(report.findings.map(({ check }) => check)).toEqual([
      ...["store", "sqlite-version", "schema", "journal", "size", "place"],
      ...["clock", "runtimes", "leases", "stranded", "blocked", "unclaimed", "queues"],
    ]);
  });

  test("--thorough finds metrics that differ from a count", async () => {
    const project = new Project();
    await project.run("migrate");
    using database = new DatabaseSync(project.file);
    database.exec("INSERT INTO tallies VALUES ('failed', 'fulfil', 3, 0, 0, 0, 0)");
    const report = (await project.run("doctor --thorough --json")).json<Report>();
    const details = ["status failed, instances: metrics report 3 too many"];
    expect(report.findings).toContainEqual(
      expect.objectContaining({ check: "metrics", level: "problem", details }),
    );
  });

  test("--thorough finds a row whose checksum does not match", async () => {
    const project = new Project();
    const provider = await SqliteProvider.open(project.file);
    await new Client(provider).start("unregistered", "input", { id: "n" });
    await provider.close();
    using database = new DatabaseSync(project.file);
    database.exec("UPDATE inbox SET data = replace(data, 'input', 'inpus')");
    expect(await project.run("doctor")).toMatchObject({ code: 8 }); // its work has no worker
    const report = (await project.run("doctor --thorough --json")).json<Report>();
    const message = expect.stringContaining("A row of inbox (id 1) is damaged");
    expect(report.findings).toContainEqual(
      expect.objectContaining({ check: "checksums", level: "problem", message }),
    );
  });

  test("finds blocked instances, work without a worker, and leases of dead workers", async () => {
    const project = new Project();
    const perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [stuck],
      runtime: { log: () => undefined },
    });
    const handle = await perdure.client.start(stuck, undefined, { id: "s" });
    await until(async () => (await handle.describe()).blocked !== undefined);
    await perdure.client.start("unregistered", undefined, { id: "n" });
    await perdure.close();
    // A runtime that took a lease and died, as kill -9 leaves it.
    const provider = await SqliteProvider.open(project.file);
    const process = { bootId: "another", pidNamespace: "x", pid: 1, startTime: "1" };
    const registered = JSON.stringify({ activities: [], orchestrations: {}, staleMs: 1 });
    const identity = { nodeId: "node", hostname: "host", process, registered };
    await provider.registerRuntime({ id: "dead", ...identity });
    const lease = { owner: "dead", token: 1, limit: 1, allowSuspect: false, messagesMax: 10 };
    const { instances } = await provider.leaseInstances({ ...lease, targets: ["unregistered"] });
    expect(instances).toHaveLength(1);
    await provider.close();

    const ran = await project.run("doctor --json");
    expect(ran.code).toBe(8);
    const report = ran.json<Report>();
    expect(report.ok).toBe(false);
    expect(found(report, "problem")).toEqual(expect.arrayContaining(["leases", "blocked"]));
    const details = report.findings.flatMap((finding) => finding.details ?? []);
    expect(details).toContain("dead: 1 instance, 0 tasks");
    expect(details).toContainEqual(expect.stringMatching(/^s: FOREIGN_AWAIT /));
    const text = await project.run("doctor");
    expect(text).toMatchObject({ code: 8 });
    expect(text.stdout).toMatch(/✗ blocked +1 instance blocked\n/);
  });

  test("finds leases that a live runtime does not hold, and a runtime that does not compare them", async () => {
    const project = new Project();
    const provider = await SqliteProvider.open(project.file);
    const registered = JSON.stringify({ activities: [], orchestrations: {}, staleMs: 86_400_000 });
    const identity = { nodeId: "node", hostname: "host", process: null, registered };
    await provider.registerRuntime({ id: "alive", ...identity });
    await provider.recordLeaseCheck({ runtimeId: "alive", stranded: 2 });
    const ran = await project.run("doctor --json");
    expect(ran.code).toBe(8);
    const report = ran.json<Report>();
    expect(found(report, "problem")).toEqual(["stranded"]);
    expect(report.findings.flatMap(({ details }) => details ?? [])).toEqual(["alive: 2 leases"]);
    expect((await project.run("metrics")).stdout).toMatch(/leases stranded +2\n/);

    await provider.recordLeaseCheck({ runtimeId: "alive", stranded: 0 });
    expect(found((await project.run("doctor --json")).json<Report>(), "problem")).toEqual([]);
    await provider.close();
    {
      using database = new DatabaseSync(project.file);
      database.exec("UPDATE runtimes SET leases_checked_at = leases_checked_at - 3600000");
    }
    const text = await project.run("doctor");
    expect(text.stdout).toMatch(/! stranded +1 live runtime did not compare leases .*: alive\n/);
  });

  test("finds work that waits while no worker is alive", async () => {
    const project = new Project();
    const perdure = await Perdure.open(`sqlite:${project.file}`, { autoStart: false });
    await perdure.client.start("unregistered", undefined, { id: "n" });
    await perdure.close();
    const report = (await project.run("doctor --json")).json<Report>();
    expect(found(report, "problem")).toEqual(["runtimes", "unclaimed"]);
  });

  test("finds a file that another program has changed, and a clock that was set back", async () => {
    const project = new Project();
    await project.run("migrate");
    const perdure = await Perdure.open(`sqlite:${project.file}`, { autoStart: false });
    await perdure.client.start("unregistered", undefined, { id: "n" });
    await perdure.close();
    {
      using database = new DatabaseSync(project.file);
      database.exec("PRAGMA journal_mode = delete");
      database.exec("UPDATE instances SET created_at = created_at + 3600000");
    }
    const report = (await project.run("doctor --json")).json<Report>();
    expect(found(report, "problem")).toContain("journal");
    expect(found(report, "warning")).toEqual(["clock"]);
    expect(await project.run("doctor sqlite:nothing.db")).toMatchObject({ code: 5 });
  });
});

test.each([
  ["list", "postgress://ada:hunter2@host/db"],
  ["list", "ada:hunter2@host/db"],
  ["list", "--store", "postgres:/ada:hunter2@host/db"],
  ["postgres://ada:hunter2@host/db"],
  ["get", "order-7", "postgres://ada:hunter2@host/db"],
  ["list", "--limit", "postgres://ada:hunter2@host/db"],
  ["migrate", "ada:hunter2@host/db", "sqlite:b.db"],
  ["doctor", "mysql://ada:hunter2@host/db"],
  ["list", "--store", "host=h user=ada passwrod=hunter2"],
])("a password in the wrong place is not shown: perdure %s %s %s", async (...words) => {
  const project = new Project();
  for (const form of [[], ["--json"]]) {
    const { code, stdout, stderr } = await project.run([...words, ...form]);
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toContain("hunter2");
    expect(stdout + stderr).toContain("***");
  }
});
