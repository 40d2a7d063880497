// Which instances: the filter as it stands in the address, as the server's queries take it, and as its bodies do.
//   FI1. The address is the truth. Unknown members are left out of requests.

import type { Query } from "../api/request.ts";
import type { Status } from "../api/types.ts";
import { isStatus } from "../parts/status-badge.tsx";

/** As a body carries it (src/server/schemas/filter.ts). */
export interface Filter {
  readonly status?: readonly Status[];
  readonly idPrefix?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly version?: string;
  /** Null: those without one. */
  readonly parent?: string | null;
  readonly blocked?: boolean;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly ids?: readonly string[];
}

export function filterOf(query: URLSearchParams): Filter {
  const status = query.getAll("status").filter(isStatus);
  const attributes = query.getAll("attribute").flatMap(attributeOf);
  const parent = query.get("parent");
  const after = timeOf(query.get("after"));
  const before = timeOf(query.get("before"));
  return {
    ...text(query, "id", "idPrefix"),
    ...text(query, "name", "name"),
    ...text(query, "version", "version"),
    ...(status.length === 0 ? {} : { status }),
    ...(attributes.length === 0 ? {} : { attributes: Object.fromEntries(attributes) }),
    ...(parent !== null ? { parent } : query.get("root") === "true" ? { parent: null } : {}),
    ...(query.get("blocked") === "true" ? { blocked: true } : {}),
    ...(after === null ? {} : { createdAfter: after }),
    ...(before === null ? {} : { createdBefore: before }),
  };
}

export function isEmptyFilter(filter: Filter): boolean {
  return Object.keys(filter).length === 0;
}

export function queryOf(filter: Filter): Query {
  const { attributes = {}, parent, ids, ...rest } = filter;
  const pairs = Object.entries(attributes).map(([name, value]) => [`attributes[${name}]`, value]);
  return {
    ...rest,
    ...(parent === undefined ? {} : parent === null ? { root: true } : { parent }),
    ...(ids === undefined ? {} : { id: ids }),
    ...(Object.fromEntries(pairs) as Record<string, string>),
  };
}

function text(query: URLSearchParams, from: string, to: string): Record<string, string> {
  const value = query.get(from);
  return value === null || value === "" ? {} : { [to]: value };
}

/** A name and a value from `name=value`; none from what is not that. */
export function attributeOf(given: string): [string, string][] {
  const at = given.indexOf("=");
  return at < 1 ? [] : [[given.slice(0, at).trim(), given.slice(at + 1).trim()]];
}

/** A moment as ISO text; what is none is left out. */
function timeOf(given: string | null): string | null {
  const time = Date.parse(given ?? "");
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
