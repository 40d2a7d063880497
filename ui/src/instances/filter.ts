// Converts the filter in the address to a query and to a body of the server's API.
//   - The address is the only source of the filter. Unknown parameters are not sent.

import { defined } from "../../../src/core/values/defined.ts";
import type { Query } from "../api/request.ts";
import type { Status } from "../api/types.ts";
import { isStatus } from "../parts/status-badge.tsx";
import { searchOf, type Where } from "./search.ts";
import { rangeBegin } from "./time-range.ts";

/** The filter of a body (src/server/schemas/filter.ts). */
export interface Filter {
  readonly status?: readonly Status[];
  /** Found in the id or the name, or equal to an attribute. */
  readonly text?: string;
  readonly where?: Where;
  readonly idPrefix?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly version?: string;
  /** Null: instances without a parent. */
  readonly parent?: string | null;
  readonly blocked?: boolean;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly completedAfter?: string;
  readonly ids?: readonly string[];
}

/** Relative time ranges count from `now`. */
export function filterOf(query: URLSearchParams, now = Date.now()): Filter {
  const status = query.getAll("status").filter(isStatus);
  const attributes = query.getAll("attribute").flatMap(attributeOf);
  const parent = query.get("parent");
  const after = rangeBegin(query.get("created"), now) ?? timeOf(query.get("after"));
  const before = timeOf(query.get("before"));
  const ended = rangeBegin(query.get("ended"), now);
  return {
    ...searchOf(query.get("q") ?? ""),
    ...text(query, "id", "idPrefix"),
    ...text(query, "name", "name"),
    ...text(query, "version", "version"),
    ...(status.length === 0 ? {} : { status }),
    ...(attributes.length === 0 ? {} : { attributes: Object.fromEntries(attributes) }),
    ...(parent !== null ? { parent } : query.get("root") === "true" ? { parent: null } : {}),
    ...(query.get("blocked") === "true" ? { blocked: true } : {}),
    ...(after === null ? {} : { createdAfter: after }),
    ...(before === null ? {} : { createdBefore: before }),
    ...(ended === null ? {} : { completedAfter: ended }),
  };
}

export function isEmptyFilter(filter: Filter): boolean {
  return Object.keys(filter).length === 0;
}

export function queryOf(filter: Filter): Query {
  const { attributes = {}, parent, ids, where, ...rest } = filter;
  const pairs = Object.entries(attributes).map(([name, value]) => [`attributes[${name}]`, value]);
  return {
    ...rest,
    ...(where === undefined ? {} : { where: JSON.stringify(where) }),
    ...(parent === undefined ? {} : parent === null ? { root: true } : { parent }),
    ...defined({ id: ids }),
    ...(Object.fromEntries(pairs) as Record<string, string>),
  };
}

/** The orders of the list by their names in the address. The first one is the default. */
export const ORDERS = {
  newest: { title: "newest first", query: {} },
  oldest: { title: "oldest first", query: { order: "asc" } },
  changed: { title: "last changed first", query: { orderBy: "updatedAt" } },
  ended: { title: "last ended first", query: { orderBy: "completedAt" } },
} as const;
export type Order = keyof typeof ORDERS;

export function orderOf(query: URLSearchParams): Order {
  const given = query.get("order") ?? "";
  return Object.hasOwn(ORDERS, given) ? (given as Order) : "newest"; // one of the names
}

function text(query: URLSearchParams, from: string, to: string): Record<string, string> {
  const value = query.get(from);
  return value === null || value === "" ? {} : { [to]: value };
}

/** A name and a value from `name=value`. Empty if the text has another form. */
function attributeOf(given: string): [string, string][] {
  const at = given.indexOf("=");
  return at < 1 ? [] : [[given.slice(0, at).trim(), given.slice(at + 1).trim()]];
}

/** A time as ISO text. Null if the text is not a valid time. */
function timeOf(given: string | null): string | null {
  const time = Date.parse(given ?? "");
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
