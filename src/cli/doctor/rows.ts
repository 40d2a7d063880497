// Checks a store's rows: reads each row once and verifies its checksum.

import { setImmediate as turn } from "node:timers/promises";
import { batchesOf } from "../../move/move-copy.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { TRANSFER_TABLES, type TransferStore } from "../../core/provider/transfer.ts";
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
    await turn(); // lets the event loop handle a signal
    for await (const { rows } of batchesOf(store, table, { signal })) {
      read += rows.length;
      await turn();
    }
  }
  return read;
}
