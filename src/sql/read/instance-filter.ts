// Instance filter: the filter of a list as a SQL condition on instances.
//   - Members are combined with AND; an empty list matches nothing (admin.1).
//   - Every value is a parameter. An id prefix becomes a range of ids, so no character in it has a special
//       meaning.
//   - instance-filter.1: The condition of a partial index is repeated in the filter, so that the planner
//       may use that index.

import type { InstanceFilter } from "../../core/provider/admin.ts";
import { firstAfter } from "../../core/provider/shared/id-prefix.ts";
import type { Value } from "../script/statement.ts";

/** What differs between the stores. */
export interface FilterParts {
  /** SQL for the id that no index is used for. */
  readonly unindexedId: string;
  /** SQL condition: the attribute has the value. Both are parameters. */
  hasAttribute(name: string, value: string): string;
  /** The condition of a partial index that holds all instances of these statuses; null if there is none. */
  indexOf(wanted: NonNullable<InstanceFilter["status"]>): string | null;
}

export interface Condition {
  readonly sql: string;
  /** The values of its parameters, in order. */
  readonly values: readonly Value[];
  /**
   * The condition of the partial index that applies (instance-filter.1), without parameters; "true" if
   * there is none.
   */
  readonly narrow: string;
}
/** "walk": rows are found in the order of the list. "range": rows are found by their ids. */
export type Way = "walk" | "range";
/** Adds a value and returns its parameter. */
type Bind = (value: Value) => string;

export function conditionOf(filter: InstanceFilter, way: Way, parts: FilterParts): Condition {
  const values: Value[] = [];
  const bind: Bind = (value) => {
    values.push(value);
    return `$${values.length}`;
  };
  const { status, name, version, parent, idPrefix, ids, attributes = {}, blocked } = filter;
  const time = (column: string, beyond: string, at: number | undefined): string | null =>
    at === undefined ? null : `${column} ${beyond} ${bind(at)}::double precision`;
  const all = [
    status === undefined ? null : statusCondition(status, bind, parts),
    name === undefined ? null : `name = ${bind(name)}`,
    version === undefined ? null : `version = ${bind(version)}`,
    parent === null ? "parent_id IS NULL" : null,
    typeof parent === "string" ? `parent_id = ${bind(parent)}` : null,
    idPrefix === undefined
      ? null
      : prefixCondition(idPrefix, way === "walk" ? parts.unindexedId : "id", bind),
    ids === undefined ? null : `id = ANY (${bind(ids)}::text[])`,
    ...Object.entries(attributes).map(([key, value]) =>
      attributeCondition(key, value, bind, parts),
    ),
    blocked === undefined ? null : `blocked IS ${blocked ? "NOT NULL" : "NULL"}`,
    time("created_at", ">", filter.createdAfter),
    time("created_at", "<", filter.createdBefore),
    time("completed_at", "<", filter.completedBefore),
  ];
  const given = all.filter((condition) => condition !== null);
  const narrow = narrowOf(filter, parts);
  if (given.length === 0) return { sql: "true", values, narrow };
  return { sql: given.map((sql) => `(${sql})`).join(" AND "), values, narrow };
}

function narrowOf({ status, blocked }: InstanceFilter, { indexOf }: FilterParts): string {
  if (blocked === true) return "blocked IS NOT NULL";
  return (status === undefined ? null : indexOf(status)) ?? "true";
}

/** A paused instance matches only "paused", whatever its stored status is. */
function statusCondition(
  wanted: NonNullable<InstanceFilter["status"]>,
  bind: Bind,
  { indexOf }: FilterParts,
): string {
  const statuses = wanted.filter((status) => status !== "paused");
  const isPaused = "paused IS NOT NULL";
  if (statuses.length === 0) return wanted.length === 0 ? "false" : isPaused;
  const unpaused = `status IN (${statuses.map((status) => bind(status)).join(", ")}) AND paused IS NULL`;
  if (wanted.includes("paused")) return `${isPaused} OR (${unpaused})`;
  const index = indexOf(wanted);
  return index === null ? unpaused : `${unpaused} AND ${index}`; // instance-filter.1
}

function attributeCondition(
  name: string,
  value: string,
  bind: Bind,
  { hasAttribute }: FilterParts,
): string {
  // The search for the JSON text excludes most rows before any JSON is parsed.
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `strpos(attributes, ${bind(member)}::text) > 0
    AND ${hasAttribute(`${bind(name)}::text`, `${bind(value)}::text`)}`;
}

function prefixCondition(prefix: string, id: string, bind: Bind): string {
  const after = firstAfter(prefix);
  const from = `${id} >= ${bind(prefix)}::text`;
  return after === null ? from : `${from} AND ${id} < ${bind(after)}::text`;
}
