// Checksums: which columns of which rows they cover, for whoever meets rows of any table (transfer.ts).
//   CS1. The lists are in the order in which the columns go in. They do not change: what is to cover more is another
//        column. Of nothing but NULL there is no checksum.
//   CS2. A row of the inbox is covered but for its id, which is not known before it is written, and for what changes
//        while it waits: priority, target, parked. A task but for its lease, its counts and its times.

import { checksumOf } from "../core/checksum.ts";
import { cell, type Row } from "./columns.ts";

/** By table and the column that holds the checksum. */
const CHECKSUMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  instances: {
    ending_checksum: ["output", "error"],
    custom_status_checksum: ["custom_status"],
    attributes_checksum: ["attributes"],
  },
  history: { checksum: ["instance", "execution", "first", "last", "data"] },
  kv: { checksum: ["instance", "key", "value"] },
  inbox: {
    checksum: ["instance", "visible_at", "execution", "sequence", "kind", "name", "key", "data"],
  },
  tasks: {
    checksum: [
      ...["instance", "execution", "sequence"],
      ...["name", "session", "tags", "options", "input"],
    ],
    heartbeat_checksum: ["heartbeat"],
    progress_checksum: ["progress"],
    failure_checksum: ["last_failure"],
  },
  kept: { checksum: ["id", "key", "name", "data"] },
};

/** The columns of a table that hold checksums. */
export function checksumColumns(table: string): readonly string[] {
  return Object.keys(CHECKSUMS[table] ?? {});
}

/** The checksums that a row is to have, in the order of `checksumColumns`. */
export function checksumsOf(table: string, row: Row): readonly (number | null)[] {
  return Object.values(CHECKSUMS[table] ?? {}).map((columns) => {
    const parts = columns.map((column) => cell(row, column));
    return parts.every((part) => part === null) ? null : checksumOf(...parts);
  });
}
