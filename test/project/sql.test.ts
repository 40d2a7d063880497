// S19: the SQL text sent to a database is fixed; all values are bound as parameters.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSources } from "../support/source-files.ts";
import { findOpenSql } from "../support/sql-scan.ts";

/** Text that is allowed in a statement although it is not fixed, with the reason why callers cannot control it. */
const ALLOWED = new Map([
  ["src/postgres/connection/connection.ts: options.schema", "quoted by quoteSchema"],
  ["src/postgres/migrations.ts: schema", "quoted by quoteSchema"],
  ["src/postgres/liveness-thread.ts: schema", "quoted by quoteSchema, passed to the thread"],
  ["src/postgres/connection/listener.ts: channel", "a hash, in letters and digits"],
  ["src/postgres/transactions/step-transactions.ts: mark", "random hexadecimal digits"],
  ["src/postgres/admin/move-lock.ts: literal(mark.id)", "quoted as a literal"],
  ["src/postgres/admin/move-lock.ts: literal(moveMarkMessage(mark))", "quoted as a literal"],
  ["src/postgres/admin/move-lock.ts: literal(body)", "quoted as a literal"],
  ["src/sqlite/admin/transfer.ts: rejection", "quoted as a literal"],
  ["src/sql/admin/transfer.ts: table", "from the list of tables in core/provider/transfer.ts"],
  ["src/postgres/admin/transfer.ts: table", "from the list of tables in core/provider/transfer.ts"],
  ["src/sqlite/admin/transfer.ts: table", "from the list of tables in core/provider/transfer.ts"],
  ["src/sql/read/listing.ts: columns", "of the two lists in sql/read/listing.ts"],
  ["src/sql/read/listing.ts: parts.ended", "constants of a store's read/listing.ts"],
  ["src/sql/read/list-sources.ts: parts.ended", "constants of a store's read/listing.ts"],
  ["src/sql/read/list-sources.ts: parts.indexOf(status)", "a constant, as above"],
  ["src/sql/read/list-sources.ts: parts.namesOf(status)", "a constant, as above"],
  ["src/sql/read/list-sources.ts: parts.namedBy(status)", "constants, as above"],
  ["src/postgres/connection/script-driver.ts: shared.text", "of Statements, as below"],
  ["src/sqlite/connection/script-driver.ts: sql", "of Statements, as below, translated"],
  ["src/sqlite/new-store.ts: known.schema", "the text of the migrations, read back from SQLite"],
  ["src/sqlite/new-store.ts: insert", "a table of the migrations, and parameters"],
  ["src/sqlite/new-store.ts: table", "a table of the migrations"],
  [
    "src/postgres/connection/pipeline.ts: this",
    "from Statements, which are checked at their creation",
  ],
]);

/** The migration scripts, whose names are in a list. */
const MIGRATIONS = 'readFileSync(new URL(`./migrations/${file}`, import.meta.url), "utf8")';

test("S19: every statement of a provider consists of fixed text and of text allowed here by name", () => {
  const files = readSources("src/{sql,sqlite,postgres}/**/*.ts")
    .map(({ path }) => path)
    .filter((path) => !path.endsWith(".test.ts"));
  const migrations = ["sqlite", "postgres"].map(
    (kind) => `src/${kind}/migrations.ts: ${MIGRATIONS}`,
  );
  const { followed, open } = findOpenSql(files, new Set([...ALLOWED.keys(), ...migrations]));
  expect(open).toEqual([]);
  expect(followed).toBeGreaterThan(300);
});

const HELPERS = `
  const TABLE = "a";
  const of = (alias: string) => alias + ".id";
  const other = (alias: string) => alias + ".id";
  interface Database { prepare(sql: string): void }
  function where(conditions: readonly string[]): string { return conditions.join(" AND "); }
  function some(conditions: readonly string[]): string { return conditions.join(" OR "); }
`;

const STATEMENTS: readonly (readonly [what: string, statement: string, isOpen: boolean])[] = [
  [
    "constants and text from a helper",
    "`SELECT ${of('x')} FROM ${TABLE} WHERE ${where(['1'])}`",
    false,
  ],
  [
    "a number, a value of a string union type",
    "`SELECT 1 LIMIT ${count} ORDER BY id ${order}`",
    false,
  ],
  ["text from the caller", "`SELECT * FROM a WHERE id = '${id}'`", true],
  ["text from the caller in a concatenation", "'SELECT * FROM a WHERE id = ' + id", true],
  ["text from the caller through a helper", "`SELECT ${other(id)} FROM a`", true],
  ["text from the caller in a joined list", "`SELECT 1 WHERE ${some(['1 = 1', id])}`", true],
  ["text from the caller inserted by replace", "'SELECT @'.replace('@', id)", true],
];

test("S19: the scan accepts fixed text and finds text from the caller in every form", () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "statements.ts");
  const reads = STATEMENTS.map(
    ([, statement], index) =>
      `export function read${index}(database: Database, id: string, count: number, order: "ASC" | "DESC") { database.prepare(${statement}); }`,
  );
  writeFileSync(file, [HELPERS, ...reads].join("\n"));
  const { followed, open } = findOpenSql([file], new Set());
  expect(followed).toBe(STATEMENTS.length);
  const wrong = STATEMENTS.filter(([, statement]) => open.some((one) => one.includes(statement)));
  expect(wrong).toEqual(STATEMENTS.filter(([, , isOpen]) => isOpen));
});
