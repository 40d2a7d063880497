// Listing of SQLite: what differs from the other store (sql/read/listing.ts).
//   - The order of creation is (created at, key).

import { TERMINAL_STATUSES } from "../../core/provider/instances.ts";
import type { ListingParts } from "../../sql/read/listing.ts";
import { FOUND_COLUMNS } from "../../sql/rows/instance-rows.ts";
import { Statement } from "../../sql/script/statement.ts";

const FAILED: readonly string[] = ["failed", "cancelled", "terminated"];
const LIVE: readonly string[] = ["pending", "running"];

export const LISTING: ListingParts = {
  unindexedText: { before: "+", after: "" },
  created: ["created_at", "key"],
  cursor: /^(-?\d+):(\d+)$/,
  cursorOf: ([createdAt, key]) => `${createdAt}:${key}`,
  unindexedNumber: { before: "+", after: "" },
  indexOf(wanted) {
    if (wanted.length === 0) return null;
    if (wanted.every((status) => status === "paused")) return "i.paused IS NOT NULL";
    if (wanted.every((status) => LIVE.includes(status))) return "i.completed_at IS NULL";
    return wanted.every((status) => FAILED.includes(status))
      ? "i.completed_at IS NOT NULL AND i.status <> 'completed'"
      : null;
  },
  namesOf: () => null,
  namedBy: () => ["true"],
  ended: [
    ...TERMINAL_STATUSES.map(
      (status) =>
        `i.status = '${status}' AND i.completed_at IS NOT NULL AND i.parent_id IS NULL AND i.delete_after IS NULL`,
    ),
    "i.completed_at IS NOT NULL AND (i.parent_id IS NOT NULL OR i.delete_after IS NOT NULL)",
  ],
  selectChildren: new Statement(`
    SELECT ${FOUND_COLUMNS} FROM instances WHERE parent_id = $1 ORDER BY created_at, key`),
};
