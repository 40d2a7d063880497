// The check of a move: reads every table back from both stores and compares checksums.
//   - A checksum is SHA-256 over a table's rows as JSON lines, in the order of their keys. It is computed
//        from rows read from the store, not from rows in memory.
//   - The last assigned numbers are compared too (provider.transfer.3).

import { createHash } from "node:crypto";
import {
  TRANSFER_TABLES,
  type LastNumbers,
  type TransferName,
  type TransferStore,
  type TransferTable,
} from "../core/provider/transfer.ts";
import { batchesOf, type CopyOptions } from "./move-copy.ts";

/** Row count and checksum of one table of one store. */
export interface TableSum {
  readonly table: TransferName;
  readonly rows: number;
  readonly sha256: string;
}
export interface TableCheck {
  readonly source: TableSum;
  readonly target: TableSum;
}

export async function checkTables(
  options: Omit<CopyOptions, "move" | "position">,
): Promise<readonly TableCheck[]> {
  const { from, to, signal, onRows } = options;
  const checks: TableCheck[] = [];
  for (const table of TRANSFER_TABLES) {
    const [source, target] = await Promise.all([
      sumOf(from, table, { signal }),
      sumOf(to, table, { signal, onRows }),
    ]);
    checks.push({ source, target });
  }
  return checks;
}

/** The counters of the target that are behind the source: the target would assign used numbers again. */
export async function checkNumbers(
  to: TransferStore,
  copied: LastNumbers,
): Promise<readonly (keyof LastNumbers)[]> {
  const arrived = await to.readNumbers();
  const behind = (["instances", "messages"] as const).filter(
    (name) => arrived[name] < copied[name],
  );
  return arrived.storeId === copied.storeId ? behind : [...behind, "storeId"];
}

async function sumOf(
  store: TransferStore,
  table: TransferTable,
  { signal, onRows }: Pick<CopyOptions, "signal"> & Partial<Pick<CopyOptions, "onRows">>,
): Promise<TableSum> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const { rows } of batchesOf(store, table, { signal })) {
    for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
    count += rows.length;
    onRows?.(table.name, rows.length);
  }
  return { table: table.name, rows: count, sha256: hash.digest("hex") };
}
