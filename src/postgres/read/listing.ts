// Listing of PostgreSQL: what differs from the other store (sql/read/listing.ts).
//   - The order of creation is that of the keys, which are assigned at creation.

import type { StatusIndex } from "../../sql/read/list-sources.ts";
import type { ListingParts } from "../../sql/read/listing.ts";
import { FOUND_COLUMNS } from "../../sql/rows/instance-rows.ts";
import { Statement } from "../../sql/script/statement.ts";

/** The indexes on names, each with the statuses of its instances. */
const BY_NAME: readonly Required<StatusIndex>[] = [
  { where: "i.completed_at IS NULL", namesOf: ["pending", "running"] },
  { where: "i.failed", namesOf: ["failed", "cancelled", "terminated"] },
  { where: "i.completed_at IS NOT NULL AND NOT i.failed", namesOf: ["completed"] },
];
const ENDED = "i.completed_at IS NOT NULL AND i.parent_id IS NULL AND i.delete_after IS NULL";

export const LISTING: ListingParts = {
  unindexedText: { before: "(", after: ` || '') COLLATE "C"` },
  created: ["key"],
  cursor: /^key:(\d+)$/,
  cursorOf: ([key]) => `key:${key}`,
  unindexedNumber: { before: "", after: " + 0" },
  indexOf(wanted) {
    if (wanted.length === 0) return null;
    if (wanted.every((status) => status === "paused")) return { where: "i.paused IS NOT NULL" };
    const index = BY_NAME.find(({ namesOf }) => wanted.every((status) => namesOf.includes(status)));
    return index ?? null;
  },
  namedBy: (wanted) =>
    BY_NAME.filter(
      ({ namesOf }) =>
        wanted === undefined ||
        wanted.some((status) => status === "paused" || namesOf.includes(status)),
    ).map(({ where }) => where),
  ended: [
    `i.failed AND ${ENDED}`,
    `NOT i.failed AND ${ENDED}`,
    "i.completed_at IS NOT NULL AND (i.parent_id IS NOT NULL OR i.delete_after IS NOT NULL)",
  ],
  selectChildren: new Statement(`
    SELECT ${FOUND_COLUMNS} FROM @instances WHERE parent_id = $1 ORDER BY key + 0`),
};
