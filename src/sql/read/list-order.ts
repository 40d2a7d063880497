// List order: the order of a list, and the cursors that mark a place in it.
//   - A cursor is the place of the last instance seen, so concurrent changes of other instances shift nothing
//       (admin.2). Each order has cursors of its own.
//   - By creation, the order is that of the store (`created`): it never changes for an instance.
//   - list-order.1: By the time of the end, the instances that have ended come first, then the others by creation
//       (admin.9).

import { PerdureError } from "../../core/errors/errors.ts";
import type { ListOrder, ListRequest } from "../../core/provider/admin.ts";
import { integer, integerOrNull, type Row } from "../columns.ts";
import type { Bind } from "../script/parameters.ts";

/** The values of the order columns of an instance. */
export type Place = readonly number[];
/** Where a list continues. */
export interface ListPlace {
  readonly place: Place | null;
  /** By the time of the end: the list has passed all that have ended (list-order.1). */
  readonly isAfterEnded: boolean;
}

/** What differs between the stores. */
export interface OrderParts {
  /** The names of the columns that order instances by creation. */
  readonly created: readonly ("created_at" | "key")[];
  /** A cursor of the order by creation, and its format. */
  cursorOf(place: Place): string;
  readonly cursor: RegExp;
  /** What stands before and after a column of numbers, so that no index is used for it. */
  readonly unindexedNumber: { readonly before: "" | "+"; readonly after: "" | " + 0" };
}

const TIMED: Readonly<Record<Exclude<ListOrder, "createdAt">, RegExp>> = {
  updatedAt: /^updated:(-?\d+):(\d+)$/,
  completedAt: /^completed:(-?\d+):(\d+)$/,
};
const LIVE = /^live:(.*)$/s;

export function parseCursor(request: ListRequest, parts: OrderParts): ListPlace {
  const { cursor, orderBy = "createdAt" } = request;
  if (cursor === null) return { place: null, isAfterEnded: false };
  const text = Buffer.from(cursor, "base64url").toString();
  const live = orderBy === "completedAt" ? LIVE.exec(text)?.[1] : undefined;
  const format = orderBy === "createdAt" || live !== undefined ? parts.cursor : TIMED[orderBy];
  const place = format.exec(live ?? text);
  if (place === null) {
    const message = `cursor must be one that a list in this order returned; got "${cursor}".`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  return { place: place.slice(1).map(Number), isAfterEnded: live !== undefined };
}

/** The cursor of the last row of a page. The row must have `key` and the times. */
export function cursorAfter(row: Row, request: ListRequest, parts: OrderParts): string {
  return Buffer.from(placeText(row, request, parts)).toString("base64url");
}

function placeText(row: Row, { orderBy = "createdAt" }: ListRequest, parts: OrderParts): string {
  const created = parts.cursorOf(parts.created.map((column) => integer(row, column)));
  if (orderBy === "createdAt") return created;
  const key = integer(row, "key");
  if (orderBy === "updatedAt") return `updated:${integer(row, "updated_at")}:${key}`;
  const end = integerOrNull(row, "completed_at");
  return end === null ? `live:${created}` : `completed:${end}:${key}`;
}

export function directionOf({ order }: Pick<ListRequest, "order">): "DESC" | "ASC" {
  return order === "newest" ? "DESC" : "ASC";
}

/** The condition "after the place"; null: from the beginning. */
export function afterPlace(
  columns: readonly string[],
  place: Place | null,
  request: Pick<ListRequest, "order">,
  bind: Bind,
): string {
  if (place === null) return "true";
  const beyond = request.order === "newest" ? "<" : ">";
  const marks = place.map((value) => `${bind(value)}::bigint`);
  return `(${columns.join(", ")}) ${beyond} (${marks.join(", ")})`;
}

export function inOrder(columns: readonly string[], request: Pick<ListRequest, "order">): string {
  const direction = directionOf(request);
  return `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(", ")}`;
}

export function unindexed(column: string, { unindexedNumber }: OrderParts): string {
  return `${unindexedNumber.before}${column}${unindexedNumber.after}`;
}
