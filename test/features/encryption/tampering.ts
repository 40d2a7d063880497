// Changes to history rows by an attacker with write access to the store and valid checksums, but without a key.

import { checksumOf } from "../../../src/core/values/checksum.ts";
import type { StoreUnderTest } from "../../faults/kill/stores.ts";

export interface StoredRow {
  readonly instance: number;
  readonly execution: number;
  readonly first: number;
  readonly last: number;
  readonly data: string;
}

/** All rows of an instance, in order. */
export async function rowsOf(store: StoreUnderTest, id: string): Promise<StoredRow[]> {
  const lines = await store.column(
    `SELECT instance || ' ' || execution || ' ' || first || ' ' || last || ' ' || data FROM @history
     WHERE instance = (SELECT key FROM @instances WHERE id = '${id.replaceAll("'", "''")}') ORDER BY execution, first`,
  );
  return lines.map((line) => {
    const [, instance, execution, first, last, data = ""] =
      /^(\d+) (\d+) (\d+) (\d+) (.*)$/s.exec(line) ?? [];
    const [key = 0, number = 0, from = 0, to = 0] = [instance, execution, first, last].map(Number);
    return { instance: key, execution: number, first: from, last: to, data };
  });
}

/** Replaces the text of the row and updates its checksum. */
export async function write(store: StoreUnderTest, row: StoredRow, data: string): Promise<void> {
  const { instance, execution, first, last } = row;
  const checksum = checksumOf(instance, execution, first, last, data);
  await store.column(
    `UPDATE @history SET data = '${data.replaceAll("'", "''")}', checksum = ${checksum}
     ${whereOf(row)} RETURNING 1`,
  );
}

export async function swap(store: StoreUnderTest, one: StoredRow, two: StoredRow): Promise<void> {
  await write(store, one, two.data);
  await write(store, two, one.data);
}

export async function remove(store: StoreUnderTest, row: StoredRow): Promise<void> {
  await store.column(`DELETE FROM @history ${whereOf(row)} RETURNING 1`);
}

export function withoutSeal(data: string): string {
  return data.replace(/,"s":"[^"]*"\}$/, "}");
}

function whereOf({ instance, execution, first }: StoredRow): string {
  return `WHERE instance = ${instance} AND execution = ${execution} AND first = ${first}`;
}
