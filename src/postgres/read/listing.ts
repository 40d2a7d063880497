// Listing of PostgreSQL: what differs from the other store (sql/read/listing.ts).
//   - The order of creation is that of the keys, which are assigned at creation.

import type { ListingParts } from "../../sql/read/listing.ts";
import { FOUND_COLUMNS } from "../../sql/rows/instance-rows.ts";
import { Statement } from "../../sql/script/statement.ts";

const FAILED: readonly string[] = ["failed", "cancelled", "terminated"];
const LIVE: readonly string[] = ["pending", "running"];
const ENDED = "i.completed_at IS NOT NULL AND i.parent_id IS NULL AND i.delete_after IS NULL";

export const LISTING: ListingParts = {
  unindexedText: { before: "(", after: ` || '') COLLATE "C"` },
  created: ["key"],
  cursor: /^key:(\d+)$/,
  cursorOf: ([key]) => `key:${key}`,
  unindexedNumber: { before: "", after: " + 0" },
  indexOf(wanted) {
    if (wanted.length === 0) return null;
    if (wanted.every((status) => status === "paused")) return "i.paused IS NOT NULL";
    if (wanted.every((status) => LIVE.includes(status))) return "i.completed_at IS NULL";
    return wanted.every((status) => FAILED.includes(status)) ? "i.failed" : null;
  },
  ended: [
    `i.failed AND ${ENDED}`,
    `NOT i.failed AND ${ENDED}`,
    "i.completed_at IS NOT NULL AND (i.parent_id IS NOT NULL OR i.delete_after IS NOT NULL)",
  ],
  selectChildren: new Statement(`
    SELECT ${FOUND_COLUMNS} FROM @instances WHERE parent_id = $1 ORDER BY key + 0`),
};
