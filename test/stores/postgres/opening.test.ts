// Opening a store: what is created, verified and refused, and the error messages.

import { execFileSync } from "node:child_process";
import { inspect } from "node:util";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { Perdure } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { quoteSchema } from "../../../src/postgres/connection/location.ts";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { SQL_TEXTS } from "../../interfaces/server/inputs/corpora.ts";
import { dropSchema, freshSchema, postgres } from "../../support/postgres.ts";
import { openStore, ownSchema, urlWith } from "./support.ts";

describe("the schema", () => {
  test("eight concurrent opens of a new schema all succeed, with one set of tables", async () => {
    const schema = ownSchema();
    const stores = await Promise.all(Array.from({ length: 8 }, () => openStore({ schema })));
    await Promise.all(stores.map((store, i) => store.commit([startItem({ id: `from-${i}` })])));
    for (const store of stores) expect(await store.countInstances({})).toBe(8);
  });

  test.each(["Perdure", "with space", 'quo"ted', "o'brien", "ünïcode", "; DROP TABLE x; --", "1"])(
    "may be named %s",
    async (name) => {
      onTestFinished(() => dropSchema(name));
      const store = await openStore({ schema: name });
      await store.commit([startItem({ id: "a" })]);
      expect(await store.readInstance("a")).toMatchObject({ id: "a" });
      const { query } = await postgres();
      const rows = await query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [name]);
      expect(rows).toHaveLength(1);
    },
  );

  test.each(["", "x".repeat(64), "ü".repeat(32), "pg_mine", "information_schema", "a\0b", "a\nb"])(
    "must not be named %j",
    async (schema) => {
      const { url } = await postgres();
      await expect(PostgresProvider.open(url, { schema })).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    },
  );

  test("S18: a hostile name is either refused or quoted as exactly one identifier", async () => {
    const { query } = await postgres();
    let refused = 0;
    for (const name of [
      ...SQL_TEXTS,
      ...SQL_TEXTS.map((text) => `"${text}"."x`),
      'a"."b',
      '""',
      "\\",
    ]) {
      let quoted: string;
      try {
        quoted = quoteSchema(name);
      } catch (error) {
        expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
        refused++;
        continue;
      }
      expect(await query("SELECT parse_ident($1) AS parts", [quoted])).toEqual([{ parts: [name] }]);
    }
    expect(refused).toBeGreaterThan(0);
  });

  test("two schemas in one database are two stores", async () => {
    const [one, two] = [await openStore(), await openStore()];
    await one.commit([startItem({ id: "a" })]);
    expect(await two.readInstance("a")).toBeNull();
  });

  test("a schema of another program is refused, and nothing is written to it", async () => {
    const schema = ownSchema();
    const { url, query } = await postgres();
    await query(`CREATE SCHEMA ${schema}`);
    await query(`CREATE TABLE ${schema}.orders (id int)`);
    const opening = PostgresProvider.open(url, { schema });
    await expect(opening).rejects.toMatchObject({ code: "STORE_INVALID" });
    await expect(opening).rejects.toThrow(/another program/);
    await query(`ALTER TABLE ${schema}.orders RENAME TO meta`);
    await expect(PostgresProvider.open(url, { schema })).rejects.toThrow(/another program/);
    const tables = await query(
      "SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace",
      [schema],
    );
    expect(tables).toEqual([{ relname: "meta" }]);
  });

  test("an existing empty schema is used", async () => {
    const schema = ownSchema();
    await (await postgres()).query(`CREATE SCHEMA ${schema}`);
    const store = await openStore({ schema });
    expect(await store.countInstances({})).toBe(0);
  });

  test("a schema of a newer version is refused with SCHEMA_NEWER", async () => {
    const schema = ownSchema();
    await (await openStore({ schema })).close();
    const { url, query } = await postgres();
    await query(`UPDATE ${schema}.meta SET value = 1000 WHERE name = 'schema_version'`);
    const opening = PostgresProvider.open(url, { schema });
    await expect(opening).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
    await expect(opening).rejects.toThrow(/1000/);
  });
});

describe('migrate: "verify"', () => {
  test("refuses a missing schema, names the missing migrations and creates nothing", async () => {
    const schema = freshSchema();
    const { url, query } = await postgres();
    const opening = PostgresProvider.open(url, { schema, migrate: "verify" });
    await expect(opening).rejects.toMatchObject({ code: "STORE_INVALID" });
    await expect(opening).rejects.toThrow(/0001-initial\.sql.*PostgresProvider\.migrate/);
    expect(await query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema])).toEqual([]);
  });

  test("lets a role without the right to create tables use existing tables", async () => {
    const schema = ownSchema();
    const role = `worker_${schema}`;
    const { url, query } = await postgres();
    await PostgresProvider.migrate(url, { schema });
    await query(`CREATE ROLE ${role} LOGIN`);
    onTestFinished(async () => {
      await query(`DROP OWNED BY ${role}`);
      await query(`DROP ROLE ${role}`);
    });
    const target = await urlWith((address) => (address.username = role));
    const opening = PostgresProvider.open(target, { schema, migrate: "verify" });
    await expect(opening).rejects.toMatchObject({ code: "STORE_INVALID" });
    await query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    await query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    );
    await query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`);
    const store = await openStore({ target, schema, migrate: "verify" });
    await store.commit([startItem({ id: "a" })]);
    expect(await store.readInstance("a")).toMatchObject({ id: "a" });
  });
});

describe("durability", () => {
  test("is full by default, independent of the server's default, and is described (P1)", async () => {
    const options = "-c synchronous_commit=off";
    const target = await urlWith((url) => url.searchParams.set("options", options));
    const schema = ownSchema();
    const store = await openStore({ target, schema });
    expect(store.durability).toBe("full: synchronous_commit=on");
    expect(await commitSetting(store, schema)).toBe("on");
  });

  test("that is stronger than requested is not changed", async () => {
    const options = "-c synchronous_commit=remote_apply";
    const target = await urlWith((url) => url.searchParams.set("options", options));
    expect((await openStore({ target })).durability).toBe("full: synchronous_commit=remote_apply");
  });

  test("that is weaker can be selected and is described", async () => {
    const schema = ownSchema();
    const off = await openStore({ durability: "off", schema });
    expect(off.durability).toMatch(/^off: synchronous_commit=off/);
    expect(await commitSetting(off, schema)).toBe("off");
    const local = await openStore({ durability: "local" });
    expect(local.durability).toMatch(/^local/);
  });
});

describe("open fails", () => {
  test("with STORE_UNAVAILABLE for an unreachable server, without its password", async () => {
    const target = await urlWith((url) => {
      url.port = "1";
      url.password = "secret";
    });
    const error: unknown = await PostgresProvider.open(target).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(String(error)).not.toContain("secret");
  });

  test("with STORE_INVALID for a missing database", async () => {
    const target = await urlWith((url) => (url.pathname = "/nowhere"));
    const opening = PostgresProvider.open(target);
    await expect(opening).rejects.toMatchObject({ code: "STORE_INVALID" });
    await expect(opening).rejects.toThrow(/nowhere/);
  });

  test("with INVALID_ARGUMENT for an address that is not a PostgreSQL address", async () => {
    for (const address of ["mysql://x", "", "localhost"]) {
      await expect(PostgresProvider.open(address)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
  });

  test.each([
    "postgress://ada:hunter2@host/db",
    "postgres:/ada:hunter2@host/db",
    "postgres:ada:hunter2@host/db",
    "ada:hunter2@host/db",
    "postgres://ada:hunter2/x@host/db",
    "postgres://ada:12/hunter2@127.0.0.1/db",
    "postgres://ada:12?hunter2@host/db",
    "postgres://ada:12#hunter2@host/db",
    "postgres://ada:hunter2@host:port/db",
    "postgres://ada:hunter2%@host:1/db",
    "host=127.0.0.1 user=ada passwrod=hunter2",
  ])("with INVALID_ARGUMENT for a mistyped address, without its password: %s", async (address) => {
    const error: unknown = await Perdure.open(address).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("hunter2");
  });

  test("without the package pg, and the message names the install command", () => {
    const program = `
      import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        if (name !== "pg") return next(name, context);
        throw Object.assign(new Error("Cannot find package 'pg'"), { code: "ERR_MODULE_NOT_FOUND" });
      } });
      const { Perdure } = await import("./src/index.ts");
      await Perdure.open("postgres://localhost/x").catch(({ code, message }) => console.log(code, message));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      cwd: new URL("../../..", import.meta.url),
    });
    expect(output).toMatch(/^INVALID_ARGUMENT .*npm install pg/);
  });
});

test("nothing is used that pg reports as deprecated, which version 9 removes", async () => {
  const schema = ownSchema();
  const { host } = new URL((await postgres()).url);
  const query = `target_session_attrs=read-write&perdure.schema=${schema}`;
  const address = `postgres://postgres@127.0.0.1:1,${host}/postgres?${query}`;
  const program = `
    import pg from "pg";
    import { activity, orchestration, Perdure } from "./src/index.ts";
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (...args) { // pg itself reports only the third query
      if (this._activeQuery) process.emitWarning("two queries at once", "DeprecationWarning");
      return query.apply(this, args);
    };
    const add = activity("add", async (n) => n + 1);
    const life = orchestration("life", async (ctx, n) => {
      const more = await ctx.all([1, 2, 3].map((each) => ctx.run(add, n + each)));
      const [row] = await ctx.tx("sum", async (tx) => (await tx.query("SELECT 1 AS one")).rows);
      return more.at(-1) + row.one + (await ctx.step("step", () => 1));
    });
    const perdure = await Perdure.open(${JSON.stringify(address)}, {
      register: [add, life], runtime: { beatMs: 20, staleMs: 5_000, log: () => {} },
    });
    const handles = await Promise.all([1, 2, 3].map((n) => perdure.client.start(life, n)));
    console.log(JSON.stringify(await Promise.all(handles.map((handle) => handle.result()))));
    await perdure.close();`;
  const flags = ["--throw-deprecation", "--input-type=module-typescript", "-e", program];
  const output = execFileSync(process.execPath, flags, {
    encoding: "utf8",
    cwd: new URL("../../..", import.meta.url),
  });
  expect(JSON.parse(output)).toEqual([7, 8, 9]);
});

describe("a pool given by the user", () => {
  test("is used, and is left open", async () => {
    const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 3 });
    onTestFinished(() => pool.end());
    const schema = ownSchema();
    const store = await PostgresProvider.open(pool, { schema });
    expect(store.startLivenessThread).toBeUndefined(); // the main loop sends the heartbeats
    await store.commit([startItem({ id: "a" })]);
    await store.close();
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  test("that cannot be shared is refused", async () => {
    const { url } = await postgres();
    const single = new pg.Pool({ connectionString: url, max: 1 });
    const pipelined = new pg.Pool({ connectionString: url, pipeline: true });
    onTestFinished(async () => {
      await single.end();
      await pipelined.end();
    });
    for (const pool of [single, pipelined]) {
      await expect(PostgresProvider.open(pool)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
    const store = await PostgresProvider.open(single, {
      schema: ownSchema(),
      notifications: false,
    });
    await store.commit([startItem({ id: "a" })]);
    await store.close();
  });
});

test("Perdure.open accepts a PostgreSQL address", async () => {
  const { url, query } = await postgres();
  onTestFinished(() => query("DROP SCHEMA perdure CASCADE").then(() => undefined));
  const perdure = await Perdure.open(url);
  expect(perdure.provider.name).toBe("postgres");
  await perdure.close();
});

/** The synchronous_commit setting of a write transaction, recorded by a trigger. */
async function commitSetting(store: PostgresProvider, schema: string): Promise<unknown> {
  const { query } = await postgres();
  await query(`CREATE TABLE ${schema}.seen (value text)`);
  await query(`CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ${schema}.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`);
  await query(`CREATE TRIGGER see AFTER INSERT ON ${schema}.instances
    FOR EACH ROW EXECUTE FUNCTION ${schema}.see()`);
  await store.commit([startItem({ id: "seen" })]);
  const [row] = await query(`SELECT value FROM ${schema}.seen`);
  return row?.["value"];
}
