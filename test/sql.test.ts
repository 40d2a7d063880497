// S19: what reaches a database as SQL is fixed text; everything else is bound.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSources } from "./support/source-files.ts";
import { findOpenSql } from "./support/sql-scan.ts";

/** Text that may stand in a statement though it is not fixed, and why nobody can put anything else there. */
const ALLOWED = new Map([
  ["src/postgres/connection.ts: options.schema", "quoted by quoteSchema"],
  ["src/postgres/migrations.ts: schema", "quoted by quoteSchema"],
  ["src/postgres/heart-thread.ts: schema", "quoted by quoteSchema, handed to the thread"],
  ["src/postgres/listener.ts: channel", "a hash, in letters and digits"],
  ["src/postgres/step-transactions.ts: mark", "random hexadecimal digits"],
  ["src/postgres/freeze.ts: literal(mark.id)", "quoted as a literal"],
  ["src/postgres/freeze.ts: literal(toldByMark(mark))", "quoted as a literal"],
  ["src/postgres/freeze.ts: literal(body)", "quoted as a literal"],
  ["src/sqlite/freeze.ts: said", "quoted as a literal"],
  ["src/postgres/transfer.ts: table", "of the list of tables in core/provider/transfer.ts"],
  ["src/sqlite/transfer.ts: table", "of the list of tables in core/provider/transfer.ts"],
  ["src/postgres/pipeline.ts: this", "of Statements, which are looked at where they are made"],
]);

/** The scripts of the migrations, by the names in a list. */
const MIGRATIONS = 'readFileSync(new URL(`./migrations/${file}`, import.meta.url), "utf8")';

test("S19: no statement of a provider holds text that is neither fixed nor allowed here by name", () => {
  const files = readSources("src/{sqlite,postgres}/**/*.ts")
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
    "constants and a helper's text",
    "`SELECT ${of('x')} FROM ${TABLE} WHERE ${where(['1'])}`",
    false,
  ],
  ["a number, a word of a closed list", "`SELECT 1 LIMIT ${count} ORDER BY id ${order}`", false],
  ["a text of the caller's", "`SELECT * FROM a WHERE id = '${id}'`", true],
  ["one in a concatenation", "'SELECT * FROM a WHERE id = ' + id", true],
  ["one through a helper", "`SELECT ${other(id)} FROM a`", true],
  ["one in a list that is joined", "`SELECT 1 WHERE ${some(['1 = 1', id])}`", true],
  ["one that is replaced in", "'SELECT @'.replace('@', id)", true],
];

test("S19: the scan passes what is fixed, and finds a caller's text however it gets in", () => {
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
