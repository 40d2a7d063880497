// Listing of SQLite: the rows of a page (sql/read/listing.ts).
//   - The order is (created at, key).
//   - sqlite.listing.1: A list by id prefix first reads NEAR_ROWS rows from its cursor. If they do not fill
//       the page, it is read through the index on ids. If too many ids match for that (FEW_MATCHES),
//       reading on in list order is cheaper than looking up and sorting all matches.

import type { ListRequest } from "../../core/provider/admin.ts";
import { NEAR_ROWS } from "../../core/provider/shared/id-prefix.ts";
import { integer, type Row } from "../../sql/columns.ts";
import { conditionOf, type FilterParts } from "../../sql/read/instance-filter.ts";
import { areFew, placeIn, type ListingParts } from "../../sql/read/listing.ts";
import { FOUND_COLUMNS } from "../../sql/rows/instance-rows.ts";
import { first, run, type Script } from "../../sql/script/script.ts";
import { Statement } from "../../sql/script/statement.ts";

const ORDER = ["created_at", "key"];
/** "+" prevents the use of an index for the order. */
const UNINDEXED_ORDER = ["+created_at", "+key"];

const CURSOR = /^(-?\d+):(\d+)$/;

const FILTER: FilterParts = {
  unindexedId: "+id",
  // An instance with unreadable attributes has none, and must not fail the list.
  hasAttribute: (name, value) => `EXISTS (
    SELECT 1 FROM json_each(iif(json_valid(attributes), attributes, '{}')) AS attribute
    WHERE attribute.key = ${name} AND attribute.value = ${value})`,
  indexOf: () => null,
};

export const LISTING: ListingParts = {
  ...FILTER,
  selectChildren: new Statement(`
    SELECT ${FOUND_COLUMNS} FROM instances WHERE parent_id = $1 ORDER BY created_at, key`),
  cursorOf: ({ createdAt, key }) => `${createdAt}:${key}`,
  rows,
};

/** sqlite.listing.1 */
function* rows(request: ListRequest, columns: string): Script<readonly Row[]> {
  const { idPrefix } = request.filter;
  if (idPrefix === undefined || idPrefix === "") return yield* walk(request, columns);
  const end = yield* endOfNear(request);
  const near = yield* walk(request, columns, end);
  if (end === undefined || near.length > request.limit) return near;
  return (yield* areFew(idPrefix, FILTER))
    ? yield* sorted(request, columns)
    : yield* walk(request, columns);
}

/** The row NEAR_ROWS after the cursor; undefined if there are fewer rows. */
function* endOfNear(request: ListRequest): Script<Row | undefined> {
  const { after, values, inOrder } = placeIn(request, ORDER, [], CURSOR);
  const select = new Statement(`
    SELECT created_at, key FROM instances WHERE ${after} ${inOrder} LIMIT 1 OFFSET ${NEAR_ROWS}`);
  return yield* first(select, ...values);
}

/** Reads in list order, up to the row `end`. */
function* walk(request: ListRequest, columns: string, end?: Row): Script<readonly Row[]> {
  const { sql, values: given } = conditionOf(request.filter, "walk", FILTER);
  const { after, values, inOrder } = placeIn(request, ORDER, given, CURSOR);
  const within = request.order === "newest" ? ">=" : "<=";
  const next = values.length + 1;
  const nearby =
    end === undefined ? "" : `AND (created_at, key) ${within} ($${next + 1}, $${next + 2})`;
  const ends = end === undefined ? [] : [integer(end, "created_at"), integer(end, "key")];
  const select = new Statement(`
    SELECT ${columns} FROM instances WHERE ${sql} AND ${after} ${nearby} ${inOrder} LIMIT $${next}`);
  return yield* run(select, ...values, request.limit + 1, ...ends);
}

/** Finds the rows by their ids, then sorts them in the order of the list. */
function* sorted(request: ListRequest, columns: string): Script<readonly Row[]> {
  const { sql, values: given } = conditionOf(request.filter, "range", FILTER);
  const { after, values, inOrder } = placeIn(request, UNINDEXED_ORDER, given, CURSOR);
  const select = new Statement(`
    SELECT ${columns} FROM instances WHERE key IN (
      SELECT key FROM instances WHERE ${sql} AND ${after} ${inOrder} LIMIT $${values.length + 1})
    ${inOrder}`);
  return yield* run(select, ...values, request.limit + 1);
}
