// Listing of PostgreSQL: what differs from the other store (sql/read/listing.ts).
//   - The order of creation is that of the keys, which are assigned at creation.

import type { ListingParts } from "../../sql/read/listing.ts";
import { FOUND_COLUMNS } from "../../sql/rows/instance-rows.ts";
import { Statement } from "../../sql/script/statement.ts";

/** The indexes on names, each with the statuses of its instances, and its names. */
const BY_NAME: readonly {
  readonly where: string;
  readonly statuses: readonly string[];
  readonly names: string;
}[] = [
  {
    where: "i.completed_at IS NULL",
    statuses: ["pending", "running"],
    names: "SELECT DISTINCT t.name FROM @tallies AS t WHERE t.status IN ('pending', 'running')",
  },
  {
    where: "i.failed",
    statuses: ["failed", "cancelled", "terminated"],
    names:
      "SELECT DISTINCT t.name FROM @tallies AS t WHERE t.status IN ('failed', 'cancelled', 'terminated')",
  },
  {
    where: "i.completed_at IS NOT NULL AND NOT i.failed",
    statuses: ["completed"],
    names: "SELECT DISTINCT t.name FROM @tallies AS t WHERE t.status = 'completed'",
  },
];

/** The index that has all instances of the statuses. */
function indexOn(wanted: readonly string[]) {
  if (wanted.length === 0) return undefined;
  return BY_NAME.find(({ statuses }) => wanted.every((status) => statuses.includes(status)));
}

const ENDED = "i.completed_at IS NOT NULL AND i.parent_id IS NULL AND i.delete_after IS NULL";

export const LISTING: ListingParts = {
  unindexedText: { before: "(", after: ` || '') COLLATE "C"` },
  created: ["key"],
  cursor: /^key:(\d+)$/,
  cursorOf: ([key]) => `key:${key}`,
  unindexedNumber: { before: "", after: " + 0" },
  indexOf(wanted) {
    const isPaused = wanted.length > 0 && wanted.every((status) => status === "paused");
    return isPaused ? "i.paused IS NOT NULL" : (indexOn(wanted)?.where ?? null);
  },
  namesOf: (wanted) => indexOn(wanted)?.names ?? null,
  namedBy: (wanted) =>
    BY_NAME.filter(
      ({ statuses }) =>
        wanted === undefined ||
        wanted.some((status) => status === "paused" || statuses.includes(status)),
    ).map(({ where }) => where),
  ended: [
    `i.failed AND ${ENDED}`,
    `NOT i.failed AND ${ENDED}`,
    "i.completed_at IS NOT NULL AND (i.parent_id IS NOT NULL OR i.delete_after IS NOT NULL)",
  ],
  selectChildren: new Statement(`
    SELECT ${FOUND_COLUMNS} FROM @instances WHERE parent_id = $1 ORDER BY key + 0`),
};
