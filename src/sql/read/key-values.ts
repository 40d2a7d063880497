// Key-values: reads of the values that an instance publishes under keys.

import type { KeyValueRecord } from "../../core/provider/state.ts";
import { indexEquals } from "../index-lookup.ts";
import { first, run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import { isDamaged } from "../../core/values/checksum.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { integer, integerOrNull, type Row, text } from "../columns.ts";

const OF_INSTANCE = `
  SELECT v.instance, v.key, v.value, v.updated_at, v.checksum
  FROM @instances AS i JOIN @kv AS v ON ${indexEquals("v.instance", "i.key")} WHERE i.id = $1`;
const SELECT = new Statement(`${OF_INSTANCE} AND v.key = $2`);
const SELECT_ALL = new Statement(`${OF_INSTANCE} ORDER BY v.key`);

export function* readKeyValue(id: string, key: string): Script<KeyValueRecord | null> {
  const row = yield* first(SELECT, id, key);
  return row === undefined ? null : toKeyValue(row);
}

/** Sorted by key. */
export function* readKeyValues(id: string): Script<readonly KeyValueRecord[]> {
  return (yield* run(SELECT_ALL, id)).map(toKeyValue);
}

// Key-values: the row of a key-value as a record.

/**
 * From the columns instance, key, value, updated_at and checksum; HISTORY_CORRUPT if the checksum does not
 * match.
 */
function toKeyValue(row: Row): KeyValueRecord {
  const [key, value] = [text(row, "key"), text(row, "value")];
  if (isDamaged(integerOrNull(row, "checksum"), integer(row, "instance"), key, value)) {
    const message = `The stored value of key "${key}" is damaged: its checksum does not match.`;
    throw new PerdureError("HISTORY_CORRUPT", message);
  }
  return { key, value, updatedAt: integer(row, "updated_at") };
}
