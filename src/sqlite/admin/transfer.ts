// Transfer of SQLite: what differs from the other store (sql/admin/transfer.ts).
//   - A flag is 0 or 1. A list of tags is JSON text, the empty text for none (lease/task-rows.ts). The last
//       numbers are those of sqlite_sequence.
//   - The copy writes in transactions that drop the triggers and create them again before they end, so no
//       other process sees the store without them.
//   - OWN_TABLES and OWN_COLUMNS say what is not in the format, and why. A test compares them with the
//       schema.

import { realpathSync } from "node:fs";
import { moveMarkMessage, type TransferTable } from "../../core/provider/transfer.ts";
import { checksumColumns, type Cells } from "../../sql/admin/checksums.ts";
import { MOVED_TABLES, type NewMark } from "../../sql/admin/move-lock.ts";
import { list, OWN_COLUMNS, type TransferParts } from "../../sql/admin/transfer.ts";
import { Statement } from "../../sql/script/statement.ts";
import type { Connection } from "../connection/connection.ts";
import { MOVED } from "../connection/errors.ts";
import { IN_MEMORY } from "../connection/location.ts";
import { tagsText } from "../lease/task-rows.ts";

export { OWN_COLUMNS };

/** Tables that are not moved, and why. */
export const OWN_TABLES: Readonly<Record<string, string>> = {
  meta: "belongs to the file: schema version, creation time, change counter",
  move: "the mark itself",
  store: "the id of the store, which moves with the last numbers",
  attributes: "written by triggers while instances are copied",
  tallies: "maintained by triggers while instances are copied",
  runtimes: "no runtime is registered during a move",
  admissions: "a rate begins again in the target store",
  queue_clocks: "fair order begins again in the target store",
  queue_lanes: "as queue_clocks",
  queue_outcomes: "of the last minute only",
};
/** The triggers that reject writes: name, operation, table. */
const TRIGGERS = [...MOVED_TABLES, "runtimes"].flatMap((table) =>
  ["INSERT", "UPDATE", "DELETE"].map(
    (operation) => [`frozen_${table}_${operation.toLowerCase()}`, operation, table] as const,
  ),
);
const LAST = (table: string): string =>
  `coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${table}'), 0)`;

export function transferParts(connection: Connection): TransferParts {
  const { database } = connection;

  function thaw(): void {
    for (const [name] of TRIGGERS) database.exec(`DROP TRIGGER IF EXISTS ${name}`);
  }

  function freeze(mark: NewMark): void {
    const rejection = `'${(MOVED + moveMarkMessage(mark)).replaceAll("'", "''")}'`;
    thaw();
    for (const [name, operation, table] of TRIGGERS) {
      database.exec(
        `CREATE TRIGGER ${name} BEFORE ${operation} ON ${table} BEGIN SELECT RAISE(ABORT, ${rejection}); END`,
      );
    }
  }

  return {
    title: "SQLite",
    findTable: new Statement("SELECT 1 AS found FROM sqlite_schema WHERE name = 'move'"),
    selectNumbers: new Statement(`
      SELECT ${LAST("instances")} AS instances, ${LAST("inbox")} AS messages`),
    covered: {
      inbox: ["instance", "visible_at", "execution", "sequence", "kind", "name", "key", "data"],
      kept: ["id", "key", "name", "data"],
    },
    async place() {
      const { path } = connection;
      return `sqlite:${path === null ? IN_MEMORY : realpathSync(path)}`;
    },
    async beforeMark() {
      // Every event is in its inbox.
    },
    *lock() {
      // The transaction holds the only write lock.
    },
    *assertMovable() {
      // Any store can be marked.
    },
    *freeze(mark) {
      freeze(mark);
    },
    *unfreeze() {
      thaw();
    },
    *asCopy(mark, work) {
      thaw();
      yield* work();
      freeze(mark);
    },
    *writeNumbers({ instances, messages }) {
      const forget = database.prepare("DELETE FROM sqlite_sequence WHERE name = ?");
      const note = database.prepare("INSERT INTO sqlite_sequence VALUES (?, ?)");
      for (const [table, last] of [
        ["instances", instances],
        ["inbox", messages],
      ] as const) {
        forget.run(table);
        note.run(table, last);
      }
    },
    newStoreId: () => connection.environment.randomHex(16),
    tagCells: (tags) => ({ tags: tagsText(tags) }),
    ownCells: () => ({}),
    *insert(table: TransferTable, rows: readonly Cells[]) {
      const columns = [...Object.keys(table.columns), ...checksumColumns(table.name)];
      const marks = columns.map(() => "?").join(", ");
      const insert = database.prepare(`
        INSERT INTO ${table.name} (${list(columns)}) VALUES (${marks})`);
      for (const row of rows) insert.run(...columns.map((column) => toBound(row[column] ?? null)));
    },
  };
}

function toBound(cell: Cells[string]): string | number | null {
  return typeof cell === "boolean" ? Number(cell) : cell;
}
