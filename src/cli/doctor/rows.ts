// Checks a store's rows: reads each row once and verifies its checksum.

import { setImmediate as turn } from "node:timers/promises";
import { BatchSizes } from "../../client/move/move-copy.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import {
  keyOf,
  TRANSFER_TABLES,
  type Cell,
  type TransferStore,
} from "../../core/provider/transfer.ts";
import { ok, problem, type Finding } from "./finding.ts";

/** Returns no findings for a provider that cannot read its rows one by one. */
export async function checkRows(
  { transfer }: Provider,
  signal?: AbortSignal,
): Promise<readonly Finding[]> {
  if (transfer === undefined) return [];
  try {
    return [ok("checksums", `all ${await readAll(transfer, signal)} rows match their checksums`)];
  } catch (error) {
    if (!isPerdureError(error, "HISTORY_CORRUPT")) throw error;
    const hint =
      "Restore a backup, or delete the instance that the row belongs to. There may be more damaged rows.";
    return [problem("checksums", error.message, { hint })];
  }
}

async function readAll(store: TransferStore, signal: AbortSignal | undefined): Promise<number> {
  let read = 0;
  for (const table of TRANSFER_TABLES) {
    let after: readonly Cell[] | null = null;
    for (const batches = new BatchSizes(); ;) {
      await turn(); // lets the event loop handle a signal
      signal?.throwIfAborted();
      const rows = await store.readRows({ table, after, limit: batches.next });
      const last = rows.at(-1);
      if (last === undefined) break;
      batches.record(rows);
      after = keyOf(table, last);
      read += rows.length;
    }
  }
  return read;
}
