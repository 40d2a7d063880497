// Listing: finding and counting instances.
//   L1. The order is (created at, key), which no instance ever changes; so a cursor is that of the last one
//       seen, and whatever happens meanwhile shifts nothing (AD2).
//   L2. One more than asked for is read, to know whether there is more.

import type { StatementSync } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";
import type {
  FoundPage,
  InstanceFilter,
  InstancePage,
  ListRequest,
} from "../core/provider/admin.ts";
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
    { filter, order, limit, cursor }: ListRequest,
    columns: string,
    toItem: (row: Row) => Item,
  ): Promise<{ items: Item[]; cursor: string | null }> {
    return this.#connection.read(() => {
      const { sql, values } = conditionOf(filter);
      const seen = cursor === null ? [] : placeOf(cursor);
      const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
      const after = cursor === null ? "1" : `(created_at, key) ${beyond} (?, ?)`;
      const select = this.#connection.prepare(`
        SELECT ${columns} FROM instances WHERE ${sql} AND ${after}
        ORDER BY created_at ${direction}, key ${direction} LIMIT ?`);
      const rows = select.all(...values, ...seen, limit + 1);
      const items = rows.slice(0, limit).map(toItem);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return { items, cursor: last === undefined ? null : cursorOf(last) };
    });
  }

  count(filter: InstanceFilter): Promise<number> {
    return this.#connection.read(() => {
      const { sql, values } = conditionOf(filter);
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

function cursorOf({ createdAt, key }: Pick<FoundInstance, "key" | "createdAt">): string {
  return Buffer.from(`${createdAt}:${key}`).toString("base64url");
}

function placeOf(cursor: string): readonly number[] {
  const place = /^(-?\d+):(\d+)$/.exec(Buffer.from(cursor, "base64url").toString());
  if (place !== null) return place.slice(1).map(Number);
  throw new PerdureError("INVALID_ARGUMENT", `"${cursor}" is no cursor that a list has given out.`);
}
