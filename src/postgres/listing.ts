// Listing: finding and counting instances.
//   L1. The order is that of the keys, which are given at creation and never change; so a cursor is the key of the
//       last one seen, and whatever happens meanwhile shifts nothing (AD2).
//   L2. One more than asked for is read, to know whether there is more.
//   L3. A filter's statement is made for it and not kept by the server: there are too many of them.

import { PerdureError } from "../core/errors.ts";
import type {
  FoundPage,
  InstanceFilter,
  InstancePage,
  ListRequest,
} from "../core/provider/admin.ts";
import type { FoundInstance } from "../core/provider/instances.ts";
import { integer, only, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { conditionOf } from "./instance-filter.ts";
import { FOUND_COLUMNS, LISTED_COLUMNS, toFound, toListed } from "./instance-rows.ts";
import type { Statement } from "./pipeline.ts";

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
    { filter, order, limit, cursor }: ListRequest,
    columns: string,
    toItem: (row: Row) => Item,
  ): Promise<{ items: Item[]; cursor: string | null }> {
    const { sql, values } = conditionOf(filter);
    const seen = cursor === null ? [] : [placeOf(cursor)];
    const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
    const next = values.length + 1;
    const after = cursor === null ? "true" : `key ${beyond} $${next}::bigint`;
    const select = this.#connection.prepare(`
      SELECT ${columns} FROM @instances WHERE ${sql} AND ${after}
      ORDER BY key ${direction} LIMIT $${next + seen.length}::bigint`);
    const rows = await this.#connection.readOnce(select, [...values, ...seen, limit + 1]);
    const items = rows.slice(0, limit).map(toItem);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : cursorOf(last) };
  }

  async count(filter: InstanceFilter): Promise<number> {
    const { sql, values } = conditionOf(filter);
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

function cursorOf({ key }: Pick<FoundInstance, "key">): string {
  return Buffer.from(`key:${key}`).toString("base64url");
}

function placeOf(cursor: string): number {
  const place = /^key:(\d+)$/.exec(Buffer.from(cursor, "base64url").toString());
  if (place !== null) return Number(place[1]);
  throw new PerdureError("INVALID_ARGUMENT", `"${cursor}" is no cursor that a list has given out.`);
}
