// Listing: finding and counting instances.
//   L1. The order is (created at, key), which no instance ever changes; so a cursor is that of the last one
//       seen, and whatever happens meanwhile shifts nothing (AD2).
//   L2. One more than asked for is read, to know whether there is more.
//   L4. A list by id prefix is read near its cursor first (NEAR_ROWS). If that does not fill the page, it is read
//       through the index on ids. If too many ids match for that (FEW_MATCHES), a walk through the index of the order
//       is cheaper than to look up and sort them all. All ways give the same rows in the same order.

import type { StatementSync } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";
import type {
  FoundPage,
  InstanceFilter,
  InstancePage,
  ListRequest,
} from "../core/provider/admin.ts";
import { FEW_MATCHES, NEAR_ROWS } from "../core/provider/id-prefix.ts";
import type { FoundInstance } from "../core/provider/instances.ts";
import { integer, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { conditionOf } from "./instance-filter.ts";
import { FOUND_COLUMNS, LISTED_COLUMNS, toFound, toListed } from "./instance-rows.ts";

export class Listing {
  readonly #connection: Connection;
  readonly #selectChildren: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#selectChildren = connection.prepare(
      `SELECT ${FOUND_COLUMNS} FROM instances WHERE parent_id = ? ORDER BY created_at, key`,
    );
  }

  list(request: ListRequest): Promise<InstancePage> {
    return this.#page(request, LISTED_COLUMNS, toListed);
  }

  find(request: ListRequest): Promise<FoundPage> {
    return this.#page(request, FOUND_COLUMNS, toFound);
  }

  #page<Item extends Pick<FoundInstance, "key" | "createdAt">>(
    request: ListRequest,
    columns: string,
    toItem: (row: Row) => Item,
  ): Promise<{ items: Item[]; cursor: string | null }> {
    return this.#connection.read(() => {
      const rows = this.#rows(request, columns);
      const items = rows.slice(0, request.limit).map(toItem);
      const last = rows.length > request.limit ? items.at(-1) : undefined;
      return { items, cursor: last === undefined ? null : cursorOf(last) };
    });
  }

  /** L4 */
  #rows(request: ListRequest, columns: string): readonly Row[] {
    const { filter, limit } = request;
    if (filter.idPrefix === undefined || filter.idPrefix === "")
      return this.#walk(request, columns);
    const end = this.#endOfNear(request);
    const near = this.#walk(request, columns, end);
    if (end === undefined || near.length > limit) return near;
    return this.#areFew(filter.idPrefix)
      ? this.#sorted(request, columns)
      : this.#walk(request, columns);
  }

  /** The row NEAR_ROWS behind the cursor; undefined: there are not as many. */
  #endOfNear(request: ListRequest): Row | undefined {
    const { after, seen, inOrder } = placeIn(request);
    return this.#connection
      .prepare(
        `SELECT created_at, key FROM instances WHERE ${after} ${inOrder} LIMIT 1 OFFSET ${NEAR_ROWS}`,
      )
      .get(...seen);
  }

  #areFew(idPrefix: string): boolean {
    const { sql, values } = conditionOf({ idPrefix }, "range");
    const beyond = this.#connection.prepare(
      `SELECT 1 AS found FROM instances WHERE ${sql} LIMIT 1 OFFSET ${FEW_MATCHES}`,
    );
    return beyond.get(...values) === undefined;
  }

  /** In the order of the list, as far as this row. */
  #walk(request: ListRequest, columns: string, end?: Row): readonly Row[] {
    const { sql, values } = conditionOf(request.filter, "walk");
    const { after, seen, inOrder } = placeIn(request);
    const within = request.order === "newest" ? ">=" : "<=";
    const nearby = end === undefined ? "" : `AND (created_at, key) ${within} (?, ?)`;
    const ends = end === undefined ? [] : [integer(end, "created_at"), integer(end, "key")];
    const select = this.#connection.prepare(`
      SELECT ${columns} FROM instances WHERE ${sql} AND ${after} ${nearby} ${inOrder} LIMIT ?`);
    return select.all(...values, ...seen, ...ends, request.limit + 1);
  }

  /** Found by their ids, then brought into the order of the list. */
  #sorted(request: ListRequest, columns: string): readonly Row[] {
    const { sql, values } = conditionOf(request.filter, "range");
    const { after, seen, inOrder } = placeIn(request, "+");
    const select = this.#connection.prepare(`
      SELECT ${columns} FROM instances WHERE key IN (
        SELECT key FROM instances WHERE ${sql} AND ${after} ${inOrder} LIMIT ?) ${inOrder}`);
    return select.all(...values, ...seen, request.limit + 1);
  }

  count(filter: InstanceFilter): Promise<number> {
    return this.#connection.read(() => {
      const { sql, values } = conditionOf(filter, "range");
      const count = this.#connection.prepare(
        `SELECT count(*) AS instances FROM instances WHERE ${sql}`,
      );
      return integer(count.get(...values) ?? {}, "instances");
    });
  }

  /** Direct ones, of all the parent's executions, oldest first. */
  children(id: string): Promise<readonly FoundInstance[]> {
    return this.#connection.read(() => this.#selectChildren.all(id).map(toFound));
  }
}

/** What follows the cursor, and the order of the list; "+" keeps it from choosing an index. */
function placeIn(
  { order, cursor }: ListRequest,
  plus: "+" | "" = "",
): { after: string; seen: readonly number[]; inOrder: string } {
  const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
  const inOrder = `ORDER BY ${plus}created_at ${direction}, ${plus}key ${direction}`;
  if (cursor === null) return { after: "1", seen: [], inOrder };
  return {
    after: `(${plus}created_at, ${plus}key) ${beyond} (?, ?)`,
    seen: placeOf(cursor),
    inOrder,
  };
}

function cursorOf({ createdAt, key }: Pick<FoundInstance, "key" | "createdAt">): string {
  return Buffer.from(`${createdAt}:${key}`).toString("base64url");
}

function placeOf(cursor: string): readonly number[] {
  const place = /^(-?\d+):(\d+)$/.exec(Buffer.from(cursor, "base64url").toString());
  if (place !== null) return place.slice(1).map(Number);
  throw new PerdureError("INVALID_ARGUMENT", `"${cursor}" is no cursor that a list has given out.`);
}
