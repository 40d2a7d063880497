// The check of a move: reads every table back from both stores and compares checksums.
//   - A checksum is SHA-256 over a table's rows as JSON lines, in the order of their keys. It is computed
//        from rows read from the store, not from rows in memory.
//   - The last assigned numbers are compared too (provider.transfer.3).

import { createHash } from "node:crypto";
import {
  keyOf,
  TRANSFER_TABLES,
  type Cell,
  type LastNumbers,
  type TransferName,
  type TransferStore,
  type TransferTable,
} from "../../core/provider/transfer.ts";
import { BatchSizes } from "./move-copy.ts";

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

export async function checkTables(options: {
  readonly from: TransferStore;
  readonly to: TransferStore;
  readonly signal: AbortSignal | undefined;
  readonly onRows: (table: TransferName, rows: number) => void;
}): Promise<readonly TableCheck[]> {
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
  return (["instances", "messages"] as const).filter((name) => arrived[name] < copied[name]);
}

async function sumOf(
  store: TransferStore,
  table: TransferTable,
  options: {
    readonly signal: AbortSignal | undefined;
    readonly onRows?: (table: TransferName, rows: number) => void;
  },
): Promise<TableSum> {
  const hash = createHash("sha256");
  let count = 0;
  let after: readonly Cell[] | null = null;
  for (const batches = new BatchSizes(); ;) {
    options.signal?.throwIfAborted();
    const rows = await store.readRows({ table, after, limit: batches.next });
    const last = rows.at(-1);
    if (last === undefined) break;
    batches.record(rows);
    for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
    after = keyOf(table, last);
    count += rows.length;
    options.onRows?.(table.name, rows.length);
  }
  return { table: table.name, rows: count, sha256: hash.digest("hex") };
}
