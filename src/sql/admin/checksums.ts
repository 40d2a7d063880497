// Checksums: the columns that each checksum covers, for code that handles rows of any table (transfer.ts).
//   - The lists are in the order in which the columns enter the checksum. They never change: to cover more,
//       add another checksum column. If all covered columns are NULL, there is no checksum.
//   - The checksum of a message covers other columns in each store. On SQLite it covers what is known at the
//       insert: not the id, nor the columns that change while the message waits. On PostgreSQL every covered
//       value is known before the statement is sent, so that a checksum costs no round trip.
//   - checksums.1: On PostgreSQL a message for an instance that does not exist yet, or one that arrived
//       through a user transaction, has the checksum of the inbox message that it becomes, and keeps it.

import { checksumOf, type ChecksumPart } from "../../core/values/checksum.ts";

export type Cells = Readonly<Record<string, ChecksumPart | boolean>>;
/** The covered columns, by table and by the column that holds the checksum. */
type Covered = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const COVERED: Covered = {
  instances: {
    ending_checksum: ["output", "error"],
    custom_status_checksum: ["custom_status"],
    attributes_checksum: ["attributes"],
  },
  history: { checksum: ["instance", "execution", "first", "last", "data"] },
  kv: { checksum: ["instance", "key", "value"] },
  inbox: { checksum: [] },
  kept: { checksum: [] },
  requests: { answer_checksum: ["answer"] },
  tasks: {
    checksum: [
      ...["instance", "execution", "sequence"],
      ...["name", "session", "tags", "options", "input"],
    ],
    heartbeat_checksum: ["heartbeat"],
    progress_checksum: ["progress"],
    failure_checksum: ["last_failure"],
  },
  stream_chunks: {
    // The offset comes last, because on PostgreSQL the statement that inserts the chunk adds it.
    checksum: ["instance", "name", "count", "execution", "call", "kind", "data", "first"],
  },
};

/** The columns of a table that hold checksums. */
export function checksumColumns(table: string): readonly string[] {
  return Object.keys(COVERED[table] ?? {});
}

/** The columns that the checksums of messages cover. */
export interface CoveredMessages {
  readonly inbox: readonly string[];
  readonly kept: readonly string[];
}

/** The checksums that a row must have, by column. */
export function checksumsOf(
  table: string,
  cells: Cells,
  messages: CoveredMessages,
): Record<string, number | null> {
  const row = table === "kept" ? { ...cells, sequence: null, kind: "event" } : cells; // checksums.1
  const sums: Record<string, number | null> = {};
  for (const [column, fixed] of Object.entries(COVERED[table] ?? {})) {
    const covered = table === "inbox" || table === "kept" ? messages[table] : fixed;
    const parts = covered.map((name) => {
      const part = row[name] ?? null;
      return typeof part === "boolean" ? Number(part) : part;
    });
    sums[column] = parts.every((part) => part === null) ? null : checksumOf(...parts);
  }
  return sums;
}
