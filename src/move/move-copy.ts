// The copy of a move: copies every table from one store into the other, in batches.
//   - The target stores the copy's position with each batch (provider.transfer.2). An interrupted copy
//        resumes after the last row it wrote. The position contains the id of the copying run: when a
//        second run takes the copy over, the next batch of the first run fails.
//   - move-copy.1: A batch has at most ROWS_MAX rows and about BYTES_MAX of text. Its row count is computed
//        from the average row size of the previous batch.

import {
  keyOf,
  TRANSFER_TABLES,
  type Cell,
  type LastNumbers,
  type TransferName,
  type TransferRow,
  type TransferStore,
  type TransferTable,
} from "../core/provider/transfer.ts";

const ROWS_MAX = 1_000;
const ROWS_FIRST = 100;
const BYTES_MAX = 4 * 1024 * 1024;

export interface CopyOptions {
  readonly from: TransferStore;
  readonly to: TransferStore;
  readonly move: string;
  readonly position: CopyPosition;
  readonly signal: AbortSignal | undefined;
  readonly onRows: (table: TransferName, rows: number) => void;
}

/** The position of a copy: after this row of this table. */
export interface CopyPosition {
  /** The random id of the copying run. */
  readonly run: string;
  /** Null: at the beginning. */
  readonly table: TransferName | null;
  readonly after: readonly Cell[] | null;
}

/** The result of a copy. */
export interface CopyResult {
  /** The last position, as the target stores it. */
  readonly progress: string;
  /** The last numbers that the source store has assigned. */
  readonly numbers: LastNumbers;
}

/** Copies every row after the given position. */
export async function copyTables(options: CopyOptions): Promise<CopyResult> {
  const { from, to, move, signal, onRows, position } = options;
  const { run } = position;
  let progress = JSON.stringify(position);
  const first = TRANSFER_TABLES.findIndex(({ name }) => name === position.table);
  for (const table of TRANSFER_TABLES.slice(Math.max(first, 0))) {
    const after = table.name === position.table ? position.after : null;
    for await (const { rows, last } of batchesOf(from, table, { after, signal })) {
      const next = JSON.stringify({ run, table: table.name, after: last } satisfies CopyPosition);
      await to.writeRows({ move, table, rows, before: progress, after: next });
      progress = next;
      onRows(table.name, rows.length);
    }
  }
  const numbers = await from.readNumbers();
  await to.writeNumbers({ move, before: progress, after: progress }, numbers);
  return { progress, numbers };
}

/** The rows of a table, or those after a key, in batches (move-copy.1). `last`: the key of the last row. */
export async function* batchesOf(
  store: TransferStore,
  table: TransferTable,
  options: { readonly after?: readonly Cell[] | null; readonly signal: AbortSignal | undefined },
): AsyncGenerator<{ readonly rows: readonly TransferRow[]; readonly last: readonly Cell[] }> {
  let { after = null } = options;
  for (let limit = ROWS_FIRST; ;) {
    options.signal?.throwIfAborted();
    const rows = await store.readRows({ table, after, limit });
    const last = rows.at(-1);
    if (last === undefined) return;
    limit = nextLimit(rows);
    after = keyOf(table, last);
    yield { rows, last: after };
  }
}

function nextLimit(rows: readonly TransferRow[]): number {
  let bytes = 1;
  for (const row of rows)
    for (const cell of row) if (typeof cell === "string") bytes += cell.length;
  const fitting = Math.floor((rows.length * BYTES_MAX) / bytes);
  return Math.max(1, Math.min(ROWS_MAX, fitting));
}
