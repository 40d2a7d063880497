// The size of a store, and its connections, asked of the database itself.

import { existsSync, statSync } from "node:fs";
import { SQLITE } from "../kill/store-address.ts";
import type { StoreUnderTest } from "../kill/stores.ts";
import type { StoreSample } from "./samples.ts";

export async function storeSample({ kind, address, column }: StoreUnderTest): Promise<StoreSample> {
  if (kind === "sqlite") {
    const path = address.slice(SQLITE.length);
    const log = `${path}-wal`;
    return {
      tableBytes: statSync(path).size,
      indexBytes: null,
      logBytes: existsSync(log) ? statSync(log).size : 0,
      connections: null,
    };
  }
  const schema = new URL(address).hash.slice(1);
  const sum = (size: string): Promise<number> =>
    number(`
      SELECT coalesce(sum(${size}(c.oid)), 0) FROM pg_class AS c
      JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = '${schema}' AND c.relkind = 'r'`);
  const number = async (sql: string): Promise<number> => Number((await column(sql))[0]);
  return {
    tableBytes: await sum("pg_table_size"),
    indexBytes: await sum("pg_indexes_size"),
    logBytes: null,
    connections: await number(`
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()`),
  };
}
