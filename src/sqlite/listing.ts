// Listing: finding and counting instances.
//   L1. The order is (created at, key), which no instance ever changes; so a cursor is that of the last one
//       seen, and whatever happens meanwhile shifts nothing (AD2).
//   L2. One more than asked for is read, to know whether there is more.

import type { StatementSync } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";
import type { InstanceFilter, InstancePage, ListRequest } from "../core/provider/admin.ts";
import type { InstanceRecord } from "../core/provider/instances.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { conditionOf } from "./instance-filter.ts";
import { toRecord } from "./instance-rows.ts";

export class Listing {
  readonly #connection: Connection;
  readonly #selectChildren: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#selectChildren = connection.prepare(
      "SELECT * FROM instances WHERE parent_id = ? ORDER BY created_at, key",
    );
  }

  list({ filter, order, limit, cursor }: ListRequest): Promise<InstancePage> {
    return this.#connection.read(() => {
      const { sql, values } = conditionOf(filter);
      const seen = cursor === null ? [] : placeOf(cursor);
      const [beyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
      const after = cursor === null ? "1" : `(created_at, key) ${beyond} (?, ?)`;
      const select = this.#connection.prepare(`
        SELECT * FROM instances WHERE ${sql} AND ${after}
        ORDER BY created_at ${direction}, key ${direction} LIMIT ?`);
      const rows = select.all(...values, ...seen, limit + 1);
      const items = rows.slice(0, limit).map(toRecord);
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
  children(id: string): Promise<readonly InstanceRecord[]> {
    return this.#connection.read(() => this.#selectChildren.all(id).map(toRecord));
  }
}

function cursorOf({ createdAt, key }: InstanceRecord): string {
  return Buffer.from(`${createdAt}:${key}`).toString("base64url");
}

function placeOf(cursor: string): readonly number[] {
  const place = /^(-?\d+):(\d+)$/.exec(Buffer.from(cursor, "base64url").toString());
  if (place !== null) return place.slice(1).map(Number);
  throw new PerdureError("INVALID_ARGUMENT", `"${cursor}" is no cursor that a list has given out.`);
}
