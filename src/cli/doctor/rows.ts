// The check-up of a store's rows: each is read once and compared with its checksum.

import { setImmediate as turn } from "node:timers/promises";
import { BatchSizes } from "../../client/move-copy.ts";
import { isPerdureError } from "../../core/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import {
  keyOf,
  TRANSFER_TABLES,
  type Cell,
  type TransferStore,
} from "../../core/provider/transfer.ts";
import { ok, problem, type Finding } from "./finding.ts";

/** Nothing for a store whose rows nobody can ask for. */
export async function checkRows(
  { transfer }: Provider,
  signal?: AbortSignal,
): Promise<readonly Finding[]> {
  if (transfer === undefined) return [];
  try {
    return [
      ok("checksums", `${await readAll(transfer, signal)} rows were read and are what was written`),
    ];
  } catch (error) {
    if (!isPerdureError(error, "HISTORY_CORRUPT")) throw error;
    const hint =
      "Restore a backup, or delete the instance it belongs to; there may be more of them.";
    return [problem("checksums", error.message, { hint })];
  }
}

async function readAll(store: TransferStore, signal: AbortSignal | undefined): Promise<number> {
  let read = 0;
  for (const table of TRANSFER_TABLES) {
    let after: readonly Cell[] | null = null;
    for (const batches = new BatchSizes(); ;) {
      await turn(); // lets a signal in
      signal?.throwIfAborted();
      const rows = await store.readRows({ table, after, limit: batches.next });
      const last = rows.at(-1);
      if (last === undefined) break;
      batches.took(rows);
      after = keyOf(table, last);
      read += rows.length;
    }
  }
  return read;
}
