// Roles as administrators create them: without ownership of the tables, and with settings of their own (ALTER ROLE … SET).

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { registration } from "../../../src/testing/conformance/fixture.ts";
import { dropSchema, freshSchema, postgres } from "../../support/postgres.ts";
import { openStore, ownSchema, startRuntime, until, urlWith } from "./support.ts";

/** A role with these settings, and the address to connect with it. */
async function newRole(
  settings: Readonly<Record<string, string>> = {},
  rights = "",
): Promise<{ readonly role: string; readonly target: string }> {
  const { query } = await postgres();
  const role = `role_${freshSchema()}`;
  await query(`CREATE ROLE ${role} LOGIN ${rights}`);
  onTestFinished(async () => {
    await query(`DROP OWNED BY ${role} CASCADE`);
    await query(`DROP ROLE ${role}`);
  });
  for (const [name, value] of Object.entries(settings)) {
    await query(`ALTER ROLE ${role} SET ${name} = ${value}`);
  }
  return { role, target: await urlWith((url) => (url.username = role)) };
}

async function messageOf(opening: Promise<unknown>): Promise<string> {
  const error: unknown = await opening.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "STORE_INVALID" });
  return (error as Error).message;
}

describe("a role without ownership", () => {
  test("gets an error that names the missing step, the missing rights, and the statements that grant them", async () => {
    const schema = ownSchema();
    const { role, target } = await newRole();
    const { url, query } = await postgres();
    const open = () => PostgresProvider.open(target, { schema });
    expect(await messageOf(open())).toMatch(
      `Role "${role}" may not create or change the tables of schema "${schema}"`,
    );
    expect(await messageOf(open())).toMatch(/perdure migrate/);

    await PostgresProvider.migrate(url, { schema });
    const refused = await messageOf(open());
    expect(refused).toMatch(/cannot read its tables: permission denied for schema/);
    const grants = refused.slice(refused.indexOf("GRANT"));
    await query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    await query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    expect(await messageOf(open())).toMatch(/lacks DELETE on .*, INSERT on .* and \d+ more/);
    const reader = await openStore({ target, schema, readOnly: true });
    expect(await reader.countInstances({})).toBe(0);

    await query(grants);
    await query(`REVOKE INSERT ON ${schema}.tasks FROM ${role}`);
    expect(await messageOf(open())).toMatch("lacks INSERT on tasks.");
    await query(grants);
    await query(`CREATE TABLE ${schema}.notes (of text)`);
    await query(`ALTER TABLE ${schema}.notes OWNER TO pg_monitor`); // not a table of the store
    const store = await openStore({ target, schema });
    const hello = orchestration("hello", async (ctx) => ctx.waitFor("go"));
    const { client } = await startRuntime(store, [hello]);
    const handle = await client.start(hello, undefined);
    await handle.raise("go", "went");
    expect(await handle.result()).toBe("went");
  });
});

describe("settings of a role", () => {
  test("that change isolation, timeouts, names, times and texts do not change the store", async () => {
    const { query } = await postgres();
    const shadow = ownSchema();
    await query(`CREATE SCHEMA ${shadow}`);
    for (const name of ["instances", "tasks", "history", "meta", "runtimes"]) {
      await query(`CREATE TABLE ${shadow}.${name} (id int)`);
    }
    const [{ version } = {}] = await query(
      "SELECT current_setting('server_version_num') AS version",
    );
    const { target } = await newRole(
      {
        default_transaction_isolation: "serializable",
        default_transaction_deferrable: "on",
        statement_timeout: "'150ms'",
        ...(Number(version) >= 170_000 ? { transaction_timeout: "'150ms'" } : {}),
        lock_timeout: "'1ms'",
        idle_in_transaction_session_timeout: "'10s'",
        idle_session_timeout: "'150ms'",
        search_path: shadow,
        timezone: "'Asia/Kolkata'",
        datestyle: "'German, DMY'",
        intervalstyle: "'sql_standard'",
        bytea_output: "'escape'",
        standard_conforming_strings: "off",
        extra_float_digits: "'-15'",
        client_encoding: "'LATIN1'",
        synchronous_commit: "off",
      },
      "SUPERUSER",
    );
    const schema = String.raw`odd\'";${freshSchema()}`;
    onTestFinished(() => dropSchema(schema));
    const stores = await Promise.all([1, 2, 3].map(() => openStore({ target, schema })));
    const [store] = stores;
    if (store === undefined) throw new Error("no store");
    const slow = activity("slow", async (text: string) => `${text} ✓ \\ '`);
    const life = orchestration("life", async (ctx, text: string) => {
      await ctx.sleep(300);
      return ctx.run(slow, text);
    });
    const { client } = await startRuntime(store, [life, slow]);
    const handles = await Promise.all(["ä", "'", "\\"].map((text) => client.start(life, text)));
    const results = await Promise.all(handles.map((handle) => handle.result()));
    expect(results).toEqual(["ä ✓ \\ '", "' ✓ \\ '", "\\ ✓ \\ '"]);
    expect(await client.count({ status: ["completed"] })).toBe(3);
    expect(store.durability).toBe("full: synchronous_commit=on");
  });

  test("that cancel long statements do not cancel those of the store", async () => {
    const { target } = await newRole({ statement_timeout: "'100ms'" }, "SUPERUSER");
    const schema = ownSchema();
    const store = await openStore({ target, schema });
    const outside = new pg.Client((await postgres()).url);
    await outside.connect();
    onTestFinished(() => outside.end());
    await outside.query(`BEGIN; LOCK TABLE ${schema}.runtimes`);
    const [read, write] = [store.listRuntimes(), store.registerRuntime(registration({ id: "w" }))];
    const { query } = await postgres();
    await until("both have waited for longer than the timeout", async () => {
      const rows = await query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'
         AND clock_timestamp() - query_start > interval '200 ms'`,
        [schema],
      );
      return rows.length === 2;
    });
    await outside.query("COMMIT");
    await Promise.all([read, write]);
    expect(await store.listRuntimes()).toMatchObject([{ id: "w" }]);
  });

  test("that turn off triggers are refused", async () => {
    const { target } = await newRole({ session_replication_role: "replica" }, "SUPERUSER");
    const schema = ownSchema();
    const message = await messageOf(PostgresProvider.open(target, { schema }));
    expect(message).toMatch(/session_replication_role is replica.*Set it to origin/);
  });
});
