// Listing: finding and counting instances.
//   L1. The order is that of the keys, which are given at creation and never change; so a cursor is the key of the
//       last one seen, and whatever happens meanwhile shifts nothing (AD2).
//   L2. One more than asked for is read, to know whether there is more.
//   L4. A list by id prefix is read near its cursor first (NEAR_ROWS). If that does not fill the page, it is read
//       through the index on ids, which holds the keys; but if many ids match (FEW_MATCHES), only after a longer walk
//       (FAR_ROWS). All ways give the same rows in the same order.
//   L3. A filter's statement is made for it and not kept by the server: there are too many of them.

import { PerdureError } from "../core/errors.ts";
import type {
  FoundPage,
  InstanceFilter,
  InstancePage,
  ListRequest,
} from "../core/provider/admin.ts";
import { FEW_MATCHES, NEAR_ROWS } from "../core/provider/id-prefix.ts";
import type { FoundInstance } from "../core/provider/instances.ts";
import { integer, only, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { conditionOf } from "./instance-filter.ts";
import { FOUND_COLUMNS, LISTED_COLUMNS, toFound, toListed } from "./instance-rows.ts";
import type { Statement, Value } from "./pipeline.ts";

/** To look at so many rows takes about as long as to sort ten times as many matches. */
const FAR_ROWS = 50_000;
/** No sequence gives out a higher number. */
const KEY_MAX = "9223372036854775807";

export class Listing {
  readonly #connection: Connection;
  readonly #selectChildren: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#selectChildren = connection.prepare(
      `SELECT ${FOUND_COLUMNS} FROM @instances WHERE parent_id = $1 ORDER BY key + 0`,
    );
  }

  list(request: ListRequest): Promise<InstancePage> {
    return this.#page(request, LISTED_COLUMNS, toListed);
  }

  find(request: ListRequest): Promise<FoundPage> {
    return this.#page(request, FOUND_COLUMNS, toFound);
  }

  async #page<Item extends Pick<FoundInstance, "key">>(
    request: ListRequest,
    columns: string,
    toItem: (row: Row) => Item,
  ): Promise<{ items: Item[]; cursor: string | null }> {
    const { limit } = request;
    const rows = await this.#rows(request, columns);
    const items = rows.slice(0, limit).map(toItem);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : cursorOf(last) };
  }

  /** L4 */
  async #rows(request: ListRequest, columns: string): Promise<Row[]> {
    const { filter, limit } = request;
    if (filter.idPrefix === undefined || filter.idPrefix === "")
      return this.#walk(request, columns);
    const near = await this.#walk(request, columns, NEAR_ROWS);
    if (near.length > limit) return near;
    if (!(await this.#areFew(filter.idPrefix))) {
      const far = await this.#walk(request, columns, FAR_ROWS);
      if (far.length > limit) return far;
    }
    return this.#sorted(request, columns);
  }

  async #areFew(idPrefix: string): Promise<boolean> {
    const { sql, values } = conditionOf({ idPrefix }, "range");
    const beyond = this.#connection.prepare(
      `SELECT 1 AS found FROM @instances WHERE ${sql} OFFSET ${FEW_MATCHES} LIMIT 1`,
    );
    return (await this.#connection.readOnce(beyond, values)).length === 0;
  }

  /** In the order of the list, among so many rows from the cursor; without a number: among all. */
  #walk(request: ListRequest, columns: string, among?: number): Promise<Row[]> {
    const { sql, values, narrow } = conditionOf(request.filter, "walk");
    const { after, direction, bound } = placeIn(request, "key", values);
    const [within, farthest] = request.order === "newest" ? [">=", 0] : ["<=", KEY_MAX];
    const window = `SELECT key FROM @instances WHERE ${narrow} AND ${after}
      ORDER BY key ${direction} OFFSET ${among ?? 0} LIMIT 1`;
    const nearby =
      among === undefined ? "" : `AND key ${within} coalesce((${window}), ${farthest})`;
    const select = this.#connection.prepare(`
      SELECT ${columns} FROM @instances WHERE ${sql} AND ${after} ${nearby}
      ORDER BY key ${direction} LIMIT $${bound.length}::bigint`);
    return this.#connection.readOnce(select, bound);
  }

  /** Found by their ids, then brought into the order of the list. */
  #sorted(request: ListRequest, columns: string): Promise<Row[]> {
    const { sql, values } = conditionOf(request.filter, "range");
    const { after, direction, bound } = placeIn(request, "key + 0", values);
    const select = this.#connection.prepare(`
      SELECT ${columns} FROM @instances WHERE key = ANY (ARRAY(
        SELECT key FROM @instances WHERE ${sql} AND ${after}
        ORDER BY key + 0 ${direction} LIMIT $${bound.length}::bigint))
      ORDER BY key ${direction}`);
    return this.#connection.readOnce(select, bound);
  }

  async count(filter: InstanceFilter): Promise<number> {
    const { sql, values } = conditionOf(filter, "range");
    const count = this.#connection.prepare(
      `SELECT count(*) AS instances FROM @instances WHERE ${sql}`,
    );
    return integer(only(await this.#connection.readOnce(count, values)), "instances");
  }

  /** Direct ones, of all the parent's executions, oldest first. */
  async children(id: string): Promise<readonly FoundInstance[]> {
    return (await this.#connection.read(this.#selectChildren, [id])).map(toFound);
  }
}

/** What follows the cursor, and all values with one more than the page holds as the last (L2). */
function placeIn(
  { order, limit, cursor }: ListRequest,
  key: string,
  values: readonly Value[],
): { after: string; direction: string; bound: readonly Value[] } {
  const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
  if (cursor === null) return { after: "true", direction, bound: [...values, limit + 1] };
  const after = `${key} ${beyond} $${values.length + 1}::bigint`;
  return { after, direction, bound: [...values, placeOf(cursor), limit + 1] };
}

function cursorOf({ key }: Pick<FoundInstance, "key">): string {
  return Buffer.from(`key:${key}`).toString("base64url");
}

function placeOf(cursor: string): number {
  const place = /^key:(\d+)$/.exec(Buffer.from(cursor, "base64url").toString());
  if (place !== null) return Number(place[1]);
  throw new PerdureError("INVALID_ARGUMENT", `"${cursor}" is no cursor that a list has given out.`);
}
