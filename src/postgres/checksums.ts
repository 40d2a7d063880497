// Checksums: which columns of which rows they cover, for whoever meets rows of any table (transfer.ts).
//   CS1. The lists are in the order in which the columns go in. They do not change: what is to cover more is another
//        column. Of nothing but NULL there is no checksum.
//   CS2. All that is covered is known before it is sent: no checksum costs a round trip. So a row of the inbox is covered
//        but for what its statement makes: instance, execution, times. A task but for its lease, its counts and its times.
//   CS3. What is kept, or has arrived by a user's transaction, has the checksum of the message that it becomes, and
//        takes it along.

import { checksumOf, type Covered } from "../core/checksum.ts";

type Cells = Readonly<Record<string, Covered | boolean>>;

/** By table and the column that holds the checksum. */
const CHECKSUMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  instances: {
    ending_checksum: ["output", "error"],
    custom_status_checksum: ["custom_status"],
    attributes_checksum: ["attributes"],
  },
  history: { checksum: ["instance", "execution", "first", "last", "data"] },
  kv: { checksum: ["instance", "key", "value"] },
  inbox: { checksum: ["sequence", "kind", "name", "key", "data"] },
  tasks: {
    checksum: [
      ...["instance", "execution", "sequence"],
      ...["name", "session", "tags", "options", "input"],
    ],
    heartbeat_checksum: ["heartbeat"],
    progress_checksum: ["progress"],
    failure_checksum: ["last_failure"],
  },
  kept: { checksum: ["sequence", "kind", "name", "key", "data"] },
};
/** Of what is kept (CS3). */
const EVENT: Cells = { sequence: null, kind: "event" };

/** The columns of a table that hold checksums. */
export function checksumColumns(table: string): readonly string[] {
  return Object.keys(CHECKSUMS[table] ?? {});
}

/** The checksums that a row is to have, by column. */
export function checksumsOf(table: string, cells: Cells): Record<string, number | null> {
  const row = table === "kept" ? { ...cells, ...EVENT } : cells;
  const sums: Record<string, number | null> = {};
  for (const [column, covered] of Object.entries(CHECKSUMS[table] ?? {})) {
    const parts = covered.map((name) => {
      const part = row[name] ?? null;
      return typeof part === "boolean" ? Number(part) : part;
    });
    sums[column] = parts.every((part) => part === null) ? null : checksumOf(...parts);
  }
  return sums;
}
