// Key-values: what an instance shows of itself under names of its own.
//   KV1. They belong to the instance and not to one of its executions (ST3).
//   KV2. A turn's changes count in the order in which the turn made them: what is written is what they come to.

import { checksumOf, isDamaged } from "../core/checksum.ts";
import { PerdureError } from "../core/errors.ts";
import type { KeyValueChange, KeyValueRecord } from "../core/provider/state.ts";
import { ColumnArrays, plain } from "./column-arrays.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";

const COLUMNS = "v.instance, v.key, v.value, v.updated_at, v.checksum";
const OF_INSTANCE = `FROM @instances AS i JOIN @kv AS v ON ${probe("v.instance", "i.key")}`;

const VALUES = new ColumnArrays({
  instance: "bigint",
  updated_at: "bigint",
  checksum: "bigint",
  key: "text",
  value: "text",
});
const KEYS = new ColumnArrays({ instance: "bigint", key: "text" });

export class KeyValues {
  readonly #connection: Connection;
  readonly #set: Statement;
  readonly #delete: Statement;
  readonly #clear: Statement;
  readonly #select: Statement;
  readonly #selectAll: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#set = connection.prepare(`
      INSERT INTO @kv AS v (instance, key, value, updated_at, checksum)
      SELECT t.instance, t.key, t.value, coalesce(t.updated_at, (SELECT @clock())), t.checksum
      FROM ${VALUES.from("t")}
      ON CONFLICT (instance, key) DO UPDATE SET
        value = excluded.value, updated_at = excluded.updated_at, checksum = excluded.checksum`);
    this.#delete = connection.prepare(`
      DELETE FROM @kv AS v USING ${KEYS.from("t")} WHERE ${probe("v.instance", "t.instance")} AND v.key = t.key`);
    this.#clear = connection.prepare(
      `DELETE FROM @kv AS v USING unnest($1::bigint[]) AS k (key) WHERE ${probe("v.instance", "k.key")}`,
    );
    this.#select = connection.prepare(
      `SELECT ${COLUMNS} ${OF_INSTANCE} WHERE i.id = $1 AND v.key = $2`,
    );
    this.#selectAll = connection.prepare(
      `SELECT ${COLUMNS} ${OF_INSTANCE} WHERE i.id = $1 ORDER BY v.key`,
    );
  }

  change(
    pipeline: Pipeline,
    turns: readonly { readonly instance: number; readonly changes: readonly KeyValueChange[] }[],
  ): void {
    const cleared: number[] = [];
    const gone: { instance: number; key: string }[] = [];
    const values: { instance: number; key: string; value: string; updated_at: null }[] = [];
    for (const { instance, changes } of turns) {
      const { isCleared, last } = outcomeOf(changes);
      if (isCleared) cleared.push(instance);
      for (const [key, value] of last) {
        if (value === null) gone.push({ instance, key });
        else values.push({ instance, key, value, updated_at: null });
      }
    }
    this.clear(pipeline, cleared);
    if (gone.length > 0) pipeline.add(this.#delete, KEYS.values(gone));
    this.set(pipeline, values);
  }

  /** Without a time: now. No key may be there twice. */
  set(
    pipeline: Pipeline,
    values: readonly {
      readonly instance: number;
      readonly key: string;
      readonly value: string;
      readonly updated_at: number | null;
    }[],
  ): void {
    if (values.length === 0) return;
    const summed = values.map(({ instance, key, value, updated_at }) => {
      const checksum = checksumOf(instance, key, value);
      return { instance, key, value, updated_at, checksum };
    });
    pipeline.add(this.#set, VALUES.values(summed));
  }

  clear(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#clear, [plain(instances)]);
  }

  async read(id: string, key: string): Promise<KeyValueRecord | null> {
    const [row] = await this.#connection.read(this.#select, [id, key]);
    return row === undefined ? null : toKeyValue(row);
  }

  /** In the order of their keys. */
  async readAll(id: string): Promise<readonly KeyValueRecord[]> {
    return (await this.#connection.read(this.#selectAll, [id])).map(toKeyValue);
  }
}

/** KV2 */
function outcomeOf(changes: readonly KeyValueChange[]): {
  readonly isCleared: boolean;
  readonly last: ReadonlyMap<string, string | null>;
} {
  const last = new Map<string, string | null>();
  let isCleared = false;
  for (const { key, value } of changes) {
    if (key === null) {
      isCleared = true;
      last.clear();
    } else {
      last.set(key, value);
    }
  }
  return { isCleared, last };
}

function toKeyValue(row: Row): KeyValueRecord {
  const [key, value] = [text(row, "key"), text(row, "value")];
  if (isDamaged(integerOrNull(row, "checksum"), integer(row, "instance"), key, value)) {
    const message = `The value under the key "${key}" is not what was written: its checksum differs.`;
    throw new PerdureError("HISTORY_CORRUPT", message);
  }
  return { key, value, updatedAt: integer(row, "updated_at") };
}
