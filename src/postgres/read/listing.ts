// Listing of PostgreSQL: the rows of a page (sql/read/listing.ts).
//   - The order is that of the keys, which are assigned at creation.
//   - postgres.listing.1: A list by id prefix first reads NEAR_ROWS rows from its cursor. If they do not
//       fill the page, it is read through the index on ids, which holds the keys. If too many ids match for
//       that (FEW_MATCHES), FAR_ROWS rows are read in list order first.

import type { InstanceFilter, ListRequest } from "../../core/provider/admin.ts";
import { NEAR_ROWS } from "../../core/provider/shared/id-prefix.ts";
import type { Row } from "../../sql/columns.ts";
import { conditionOf, type FilterParts } from "../../sql/read/instance-filter.ts";
import { areFew, placeIn, type ListingParts } from "../../sql/read/listing.ts";
import { FOUND_COLUMNS } from "../../sql/rows/instance-rows.ts";
import { run, type Script } from "../../sql/script/script.ts";
import { Statement } from "../../sql/script/statement.ts";

/** Reading this many rows takes about as long as sorting ten times as many matches. */
const FAR_ROWS = 50_000;
/** The largest number of a sequence. */
const KEY_MAX = "9223372036854775807";
const FAILED: readonly string[] = ["failed", "cancelled", "terminated"];

const CURSOR = /^key:(\d+)$/;

const FILTER: FilterParts = {
  unindexedId: `(id || '') COLLATE "C"`,
  hasAttribute: (name, value) => `@attribute(attributes, ${name}) = ${value}`,
  indexOf,
};

export const LISTING: ListingParts = {
  ...FILTER,
  selectChildren: new Statement(`
    SELECT ${FOUND_COLUMNS} FROM @instances WHERE parent_id = $1 ORDER BY key + 0`),
  cursorOf: ({ key }) => `key:${key}`,
  rows,
};

function indexOf(wanted: NonNullable<InstanceFilter["status"]>): string | null {
  if (wanted.length === 0) return null;
  if (wanted.every((status) => status === "paused")) return "paused IS NOT NULL";
  if (wanted.every((status) => status === "pending" || status === "running")) {
    return "completed_at IS NULL";
  }
  return wanted.every((status) => FAILED.includes(status)) ? "failed" : null;
}

/** postgres.listing.1 */
function* rows(request: ListRequest, columns: string): Script<readonly Row[]> {
  const { filter, limit } = request;
  if (filter.idPrefix === undefined || filter.idPrefix === "") return yield* walk(request, columns);
  const near = yield* walk(request, columns, NEAR_ROWS);
  if (near.length > limit) return near;
  if (!(yield* areFew(filter.idPrefix, FILTER))) {
    const far = yield* walk(request, columns, FAR_ROWS);
    if (far.length > limit) return far;
  }
  return yield* sorted(request, columns);
}

/** Reads in list order, among the next `among` rows after the cursor, or among all rows. */
function* walk(request: ListRequest, columns: string, among?: number): Script<readonly Row[]> {
  const { sql, values: given, narrow } = conditionOf(request.filter, "walk", FILTER);
  const { after, values, inOrder } = placeIn(request, ["key"], given, CURSOR);
  const [within, farthest] = request.order === "newest" ? [">=", 0] : ["<=", KEY_MAX];
  const window = `SELECT key FROM @instances WHERE ${narrow} AND ${after}
    ${inOrder} OFFSET ${among ?? 0} LIMIT 1`;
  const nearby = among === undefined ? "" : `AND key ${within} coalesce((${window}), ${farthest})`;
  const select = new Statement(`
    SELECT ${columns} FROM @instances WHERE ${sql} AND ${after} ${nearby}
    ${inOrder} LIMIT $${values.length + 1}::bigint`);
  return yield* run(select, ...values, request.limit + 1);
}

/** Finds the rows by their ids, then sorts them in the order of the list. */
function* sorted(request: ListRequest, columns: string): Script<readonly Row[]> {
  const { sql, values: given } = conditionOf(request.filter, "range", FILTER);
  const { after, values, inOrder } = placeIn(request, ["key + 0"], given, CURSOR);
  const select = new Statement(`
    SELECT ${columns} FROM @instances WHERE key = ANY (ARRAY(
      SELECT key FROM @instances WHERE ${sql} AND ${after}
      ${inOrder} LIMIT $${values.length + 1}::bigint))
    ORDER BY key ${request.order === "newest" ? "DESC" : "ASC"}`);
  return yield* run(select, ...values, request.limit + 1);
}
