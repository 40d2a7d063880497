// Tail file: the SQLite file of a store whose rows can be restored to an earlier state while the store is
// open.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export class TailFile {
  readonly path = join(mkdtempSync(join(tmpdir(), "perdure-simulation-")), "store.db");
  #handle: DatabaseSync | null = null;
  #checkpoints = 0;

  /** Copies all rows. The returned function restores them, including the counters for new keys. */
  checkpoint(): () => void {
    const handle = (this.#handle ??= new DatabaseSync(this.path));
    const name = `checkpoint_${++this.#checkpoints}`;
    const tables = handle.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").all();
    const names = tables.map((row) => String(row["name"]));
    handle.exec(`ATTACH ':memory:' AS ${name}`);
    for (const table of names) {
      // The prefix is needed because names of SQLite's internal tables are reserved.
      handle.exec(`CREATE TABLE ${name}.copy_${table} AS SELECT * FROM main.${table}`);
    }
    return () => {
      const steps = names.map(
        (table) =>
          `DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM ${name}.copy_${table};`,
      );
      handle.exec(["BEGIN IMMEDIATE;", ...steps, `COMMIT; DETACH ${name}`].join(" "));
    };
  }

  remove(): void {
    this.#handle?.close();
    rmSync(dirname(this.path), { recursive: true, force: true });
  }
}
