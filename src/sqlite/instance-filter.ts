// Instance filter: what a list asks for, as a condition on instances.
//   F1. Members are ANDed; an empty list matches nothing (AD1).
//   F2. Every value is bound. An id prefix is a range of ids, so that no character of it means anything else.

import type { InstanceFilter } from "../core/provider/admin.ts";
import { firstAfter } from "../core/provider/id-prefix.ts";

export interface Condition {
  readonly sql: string;
  /** For its question marks, in order. */
  readonly values: readonly (string | number)[];
}

/** Whether rows are found in the order of a list, or by their ids. */
export type Way = "walk" | "range";

export function conditionOf(filter: InstanceFilter, way: Way): Condition {
  const { status, parent, ids, attributes = {}, blocked } = filter;
  const all: (Condition | null)[] = [
    status === undefined ? null : statusCondition(status),
    compare("name = ?", filter.name),
    compare("version = ?", filter.version),
    parent === null ? { sql: "parent_id IS NULL", values: [] } : compare("parent_id = ?", parent),
    filter.idPrefix === undefined ? null : prefixCondition(filter.idPrefix, way),
    ids === undefined
      ? null
      : { sql: "id IN (SELECT value FROM json_each(?))", values: [JSON.stringify(ids)] },
    ...Object.entries(attributes).map(([name, value]) => attributeCondition(name, value)),
    blocked === undefined
      ? null
      : { sql: blocked ? "blocked IS NOT NULL" : "blocked IS NULL", values: [] },
    compare("created_at > ?", filter.createdAfter),
    compare("created_at < ?", filter.createdBefore),
    compare("completed_at < ?", filter.completedBefore),
  ];
  const given = all.filter((condition) => condition !== null);
  if (given.length === 0) return { sql: "1", values: [] };
  return {
    sql: given.map(({ sql }) => `(${sql})`).join(" AND "),
    values: given.flatMap(({ values }) => values),
  };
}

function compare(sql: string, value: string | number | undefined): Condition | null {
  return value === undefined ? null : { sql, values: [value] };
}

/** A paused instance is that and nothing else, whatever it was before. */
function statusCondition(wanted: NonNullable<InstanceFilter["status"]>): Condition {
  const statuses = wanted.filter((status) => status !== "paused");
  const places = statuses.map(() => "?").join(", ");
  const unpaused = `status IN (${places}) AND paused IS NULL`;
  const sql = wanted.includes("paused") ? `paused IS NOT NULL OR (${unpaused})` : unpaused;
  return { sql, values: statuses };
}

function attributeCondition(name: string, value: string): Condition {
  // As it stands in the text, which tells nearly all others apart before they are read as JSON. What cannot be
  // read has no attributes, and spoils nobody's list.
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  const sql = `instr(attributes, ?) > 0 AND EXISTS (
    SELECT 1 FROM json_each(iif(json_valid(attributes), attributes, '{}')) AS attribute
    WHERE attribute.key = ? AND attribute.value = ?)`;
  return { sql, values: [member, name, value] };
}

/** A walk goes by "+id", which no index on ids serves: it would have to sort all ids that begin alike. */
function prefixCondition(prefix: string, way: Way): Condition {
  const id = way === "walk" ? "+id" : "id";
  const after = firstAfter(prefix);
  if (after === null) return { sql: `${id} >= ?`, values: [prefix] };
  return { sql: `${id} >= ? AND ${id} < ?`, values: [prefix, after] };
}
