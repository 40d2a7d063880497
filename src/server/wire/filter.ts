// Converts filters of the HTTP client to a query string and to a body.

import type { ListFilter } from "../../client/list-filter.ts";
import { defined } from "../../core/values/defined.ts";

export function filterQueryText(filter: ListFilter): readonly (readonly [string, string])[] {
  const { status, parent, ids, attributes, blocked, ...rest } = filter;
  const statuses = status === undefined ? [] : typeof status === "string" ? [status] : status;
  return [
    ...statuses.map((one) => ["status", one] as const),
    ...(parent === null ? [["root", "true"] as const] : []),
    ...(typeof parent === "string" ? [["parent", parent] as const] : []),
    ...(ids ?? []).map((id) => ["id", id] as const),
    ...Object.entries(attributes ?? {}).map(
      ([name, value]) => [`attributes[${name}]`, value] as const,
    ),
    ...(blocked === undefined ? [] : [["blocked", String(blocked)] as const]),
    ...Object.entries(rest).map(([name, value]) => [name, textOf(value)] as const),
  ];
}

/**
 * Whether the filter has an empty list, which matches nothing (admin.1). A query string cannot express that.
 */
export function findsNothing({ status, ids }: ListFilter): boolean {
  return status?.length === 0 || ids?.length === 0;
}

export function filterBody(filter: ListFilter): object {
  const { status, ...rest } = filter;
  const list = typeof status === "string" ? [status] : status;
  // JSON.stringify writes a Date as ISO text, which the server accepts.
  return { ...rest, ...defined({ status: list }) };
}

function textOf(value: string | Date): string {
  return typeof value === "string" ? value : value.toISOString();
}
