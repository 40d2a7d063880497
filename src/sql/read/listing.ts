// Listing: finds and counts instances.
//   - The order never changes for an instance. A cursor is the position of the last instance seen, so
//       concurrent changes shift nothing (admin.2).
//   - listing.1: One row more than requested is read, to know whether there is more.
//   - A list by id prefix reads in list order or through the index on ids, whichever is cheaper; the stores
//       decide in different ways. All ways return the same rows in the same order.
//   - The statement of a filter is not prepared on the server: there are too many different filters.

import { PerdureError } from "../../core/errors/errors.ts";
import type {
  FoundPage,
  InstanceFilter,
  InstancePage,
  ListRequest,
} from "../../core/provider/admin.ts";
import type { FoundInstance } from "../../core/provider/instances.ts";
import { FEW_MATCHES } from "../../core/provider/shared/id-prefix.ts";
import { integer, only, type Row } from "../columns.ts";
import { FOUND_COLUMNS, LISTED_COLUMNS, toFound, toListed } from "../rows/instance-rows.ts";
import { run, type Script } from "../script/script.ts";
import { Statement, type Value } from "../script/statement.ts";
import { conditionOf, type FilterParts } from "./instance-filter.ts";

type Place = Pick<FoundInstance, "key" | "createdAt">;

/** What differs between the stores. */
export interface ListingParts extends FilterParts {
  readonly selectChildren: Statement;
  /** The rows of a page, and one more if there is one (listing.1). */
  rows(request: ListRequest, columns: string): Script<readonly Row[]>;
  /** The text of a cursor, which `rows` reads. */
  cursorOf(last: Place): string;
}

export const listInstances = (request: ListRequest, parts: ListingParts): Script<InstancePage> =>
  page(request, parts, LISTED_COLUMNS, toListed);

export const findInstances = (request: ListRequest, parts: ListingParts): Script<FoundPage> =>
  page(request, parts, FOUND_COLUMNS, toFound);

function* page<Item extends Place>(
  request: ListRequest,
  parts: ListingParts,
  columns: string,
  toItem: (row: Row) => Item,
): Script<{ items: Item[]; cursor: string | null }> {
  const { limit } = request;
  const rows = yield* parts.rows(request, columns);
  const items = rows.slice(0, limit).map(toItem);
  const last = rows.length > limit ? items.at(-1) : undefined;
  const cursor =
    last === undefined ? null : Buffer.from(parts.cursorOf(last)).toString("base64url");
  return { items, cursor };
}

export function* countInstances(filter: InstanceFilter, parts: FilterParts): Script<number> {
  const { sql, values } = conditionOf(filter, "range", parts);
  const count = new Statement(`SELECT count(*) AS instances FROM @instances WHERE ${sql}`);
  return integer(only(yield* run(count, ...values)), "instances");
}

/** The direct children, of all executions of the parent, oldest first. */
export function* listChildren(id: string, parts: ListingParts): Script<readonly FoundInstance[]> {
  return (yield* run(parts.selectChildren, id)).map(toFound);
}

/** Whether at most FEW_MATCHES ids have the prefix. */
export function* areFew(idPrefix: string, parts: FilterParts): Script<boolean> {
  const { sql, values } = conditionOf({ idPrefix }, "range", parts);
  const beyond = new Statement(`
    SELECT 1 AS found FROM @instances WHERE ${sql} LIMIT 1 OFFSET ${FEW_MATCHES}`);
  return (yield* run(beyond, ...values)).length === 0;
}

export interface ListPlace {
  /** The condition "after the cursor". */
  readonly after: string;
  readonly inOrder: string;
  /** The values of the condition before, and those of `after`. */
  readonly values: readonly Value[];
}

/** `columns` is the order of the list, as SQL; `values` are the parameters that the statement has already. */
export function placeIn(
  { order, cursor }: ListRequest,
  columns: readonly string[],
  values: readonly Value[],
  format: RegExp,
): ListPlace {
  const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
  const inOrder = `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(", ")}`;
  if (cursor === null) return { after: "true", inOrder, values };
  const place = format.exec(Buffer.from(cursor, "base64url").toString());
  if (place === null) {
    const message = `cursor must be one that a list returned; got "${cursor}".`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const seen = place.slice(1).map(Number);
  const marks = seen.map((_, index) => `$${values.length + index + 1}::bigint`);
  const after = `(${columns.join(", ")}) ${beyond} (${marks.join(", ")})`;
  return { after, inOrder, values: [...values, ...seen] };
}
