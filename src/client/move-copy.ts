// The copy of a move: every table from one store into the other, in batches.
//   MC1. Where the copy stands is written with each batch (TR3): one that was cut off goes on behind its last row.
//        Who copies is part of it: whoever takes a copy over makes the one before him fail at his next step.
//   MC2. A batch has at most ROWS_MAX rows, and about BYTES_MAX of text: its size follows from the last one's.

import {
  keyOf,
  TRANSFER_TABLES,
  type Cell,
  type LastNumbers,
  type TransferName,
  type TransferRow,
  type TransferStore,
} from "../core/provider/transfer.ts";

const ROWS_MAX = 1_000;
const ROWS_FIRST = 100;
const BYTES_MAX = 4 * 1024 * 1024;

export interface CopyOptions {
  readonly from: TransferStore;
  readonly to: TransferStore;
  readonly move: string;
  readonly standing: Standing;
  readonly signal: AbortSignal | undefined;
  readonly onRows: (table: TransferName, rows: number) => void;
}

/** Where a copy stands: behind that row of that table. */
export interface Standing {
  /** Drawn by whoever copies. */
  readonly run: string;
  /** Null: at the beginning. */
  readonly table: TransferName | null;
  readonly after: readonly Cell[] | null;
}

/** What a copy came to. */
export interface Copied {
  /** Where it stands. */
  readonly progress: string;
  readonly numbers: LastNumbers;
}

/** Copies what is left. */
export async function copyTables(options: CopyOptions): Promise<Copied> {
  const { from, to, move, signal, onRows, standing } = options;
  const { run } = standing;
  let progress = JSON.stringify(standing);
  const first = TRANSFER_TABLES.findIndex(({ name }) => name === standing.table);
  for (const table of TRANSFER_TABLES.slice(Math.max(first, 0))) {
    let after = table.name === standing.table ? standing.after : null;
    for (const batches = new BatchSizes(); ;) {
      signal?.throwIfAborted();
      const rows = await from.readRows({ table, after, limit: batches.next });
      const last = rows.at(-1);
      if (last === undefined) break;
      batches.took(rows);
      after = keyOf(table, last);
      const stands = JSON.stringify({ run, table: table.name, after } satisfies Standing);
      await to.writeRows({ move, table, rows, before: progress, after: stands });
      progress = stands;
      onRows(table.name, rows.length);
    }
  }
  const numbers = await from.readNumbers();
  await to.writeNumbers({ move, before: progress, after: progress }, numbers);
  return { progress, numbers };
}

/** How many rows are read at a time (MC2). */
export class BatchSizes {
  next = ROWS_FIRST;

  took(rows: readonly TransferRow[]): void {
    let bytes = 1;
    for (const row of rows)
      for (const cell of row) if (typeof cell === "string") bytes += cell.length;
    const fitting = Math.floor((rows.length * BYTES_MAX) / bytes);
    this.next = Math.max(1, Math.min(ROWS_MAX, fitting));
  }
}
