// Converts filters of the HTTP client to a query string and to a body.

import type { AttributesWhere } from "../../client/attribute-where.ts";
import type { BulkFilter } from "../../client/bulk/selection.ts";
import type { ListFilter } from "../../client/list-filter.ts";
import { invalidArgument } from "../../core/checks.ts";
import type { Attributes } from "../../core/define/attributes.ts";
import { defined } from "../../core/values/defined.ts";
import { attributesToHttp, whereToHttp } from "./attributes.ts";

export function filterQueryText(filter: ListFilter): readonly (readonly [string, string])[] {
  const { status, parent, ids, attributes, where, blocked, ...rest } = filter;
  const statuses = status === undefined ? [] : typeof status === "string" ? [status] : status;
  return [
    ...statuses.map((one) => ["status", one] as const),
    ...(parent === null ? [["root", "true"] as const] : []),
    ...(typeof parent === "string" ? [["parent", parent] as const] : []),
    ...(ids ?? []).map((id) => ["id", id] as const),
    ...whereText(attributes, where),
    ...(blocked === undefined ? [] : [["blocked", String(blocked)] as const]),
    ...Object.entries(rest).map(([name, value]) => [name, textOf(value)] as const),
  ];
}

/** Attributes that are texts have parameters of their own; the others are tests. */
function whereText(
  attributes: Attributes = {},
  where: AttributesWhere = {},
): readonly (readonly [string, string])[] {
  const texts = Object.entries(attributes).flatMap(([name, value]) =>
    typeof value === "string" ? [[`attributes[${name}]`, value] as const] : [],
  );
  const others = Object.entries(attributes).filter(([, value]) => typeof value !== "string");
  const clash = others.find(([name]) => Object.hasOwn(where, name))?.[0];
  if (clash !== undefined) {
    throw invalidArgument(`Attribute "${clash}" must be in attributes or in where, not in both.`);
  }
  const tests = { ...where, ...Object.fromEntries(others) };
  if (Object.keys(tests).length === 0) return texts;
  return [...texts, ["where", JSON.stringify(whereToHttp(tests))]];
}

/**
 * Whether the filter has an empty list, which matches nothing (admin.1). A query string cannot express that.
 */
export function findsNothing({ status, ids }: ListFilter): boolean {
  return status?.length === 0 || ids?.length === 0;
}

export function filterBody(filter: BulkFilter): object {
  const { status, attributes, where, ...rest } = filter;
  const list = typeof status === "string" ? [status] : status;
  // JSON.stringify writes a Date as ISO text, which the server accepts.
  return {
    ...rest,
    ...defined({
      status: list,
      attributes: attributes && attributesToHttp(attributes),
      where: where && whereToHttp(where),
    }),
  };
}

function textOf(value: string | Date): string {
  return typeof value === "string" ? value : value.toISOString();
}
