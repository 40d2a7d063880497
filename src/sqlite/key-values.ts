// Key-values: what an instance shows of itself under names of its own.
//   KV1. They belong to the instance and not to one of its executions (ST3).
//   KV2. Changes are made in the order in which the turn made them.

import type { StatementSync } from "node:sqlite";
import { checksumOf, isDamaged } from "../core/checksum.ts";
import { PerdureError } from "../core/errors.ts";
import type { KeyValueChange, KeyValueRecord } from "../core/provider/state.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";

const COLUMNS = "kv.instance, kv.key, kv.value, kv.updated_at, kv.checksum";
const OF_INSTANCE = "FROM instances CROSS JOIN kv ON kv.instance = instances.key";

export class KeyValues {
  readonly #connection: Connection;
  readonly #set: StatementSync;
  readonly #delete: StatementSync;
  readonly #clear: StatementSync;
  readonly #select: StatementSync;
  readonly #selectAll: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#set = connection.prepare("INSERT OR REPLACE INTO kv VALUES (?, ?, ?, ?, ?)");
    this.#delete = connection.prepare("DELETE FROM kv WHERE instance = ? AND key = ?");
    this.#clear = connection.prepare("DELETE FROM kv WHERE instance = ?");
    this.#select = connection.prepare(
      `SELECT ${COLUMNS} ${OF_INSTANCE} WHERE instances.id = ? AND kv.key = ?`,
    );
    this.#selectAll = connection.prepare(
      `SELECT ${COLUMNS} ${OF_INSTANCE} WHERE instances.id = ? ORDER BY kv.key`,
    );
  }

  change(instance: number, { key, value }: KeyValueChange, now: number): void {
    if (key === null) this.clear(instance);
    else if (value === null) this.#delete.run(instance, key);
    else this.set(instance, { key, value, updatedAt: now });
  }

  set(instance: number, { key, value, updatedAt }: KeyValueRecord): void {
    this.#set.run(instance, key, value, updatedAt, checksumOf(instance, key, value));
  }

  clear(instance: number): void {
    this.#clear.run(instance);
  }

  read(id: string, key: string): Promise<KeyValueRecord | null> {
    return this.#connection.read(() => {
      const row = this.#select.get(id, key);
      return row === undefined ? null : toKeyValue(row);
    });
  }

  /** In the order of their keys. */
  readAll(id: string): Promise<readonly KeyValueRecord[]> {
    return this.#connection.read(() => this.#selectAll.all(id).map(toKeyValue));
  }
}

function toKeyValue(row: Row): KeyValueRecord {
  const [key, value] = [text(row, "key"), text(row, "value")];
  if (isDamaged(integerOrNull(row, "checksum"), integer(row, "instance"), key, value)) {
    const message = `The value under the key "${key}" is not what was written: its checksum differs.`;
    throw new PerdureError("HISTORY_CORRUPT", message);
  }
  return { key, value, updatedAt: integer(row, "updated_at") };
}
