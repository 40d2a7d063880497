// Instance filter: what a list asks for, as a condition on instances.
//   F1. Members are ANDed; an empty list matches nothing (AD1).
//   F2. Every value is bound. An id prefix is a range of ids, so that no character of it means anything else.
//   F3. What an index holds only some rows of is named in the condition, so that the planner knows it may use it.

import type { InstanceFilter } from "../core/provider/admin.ts";
import { firstAfter } from "../core/provider/id-prefix.ts";
import { texts } from "./column-arrays.ts";
import type { Value } from "./pipeline.ts";

export interface Condition {
  readonly sql: string;
  /** For its parameters, in order. */
  readonly values: readonly Value[];
  /** The part of it, without parameters, that chooses an index of some rows (F3); "true": there is none. */
  readonly narrow: string;
}
/** Whether rows are found in the order of a list, or by their ids. */
export type Way = "walk" | "range";
/** Takes a value and answers with its parameter. */
type Bind = (value: Value) => string;

export function conditionOf(filter: InstanceFilter, way: Way): Condition {
  const values: Value[] = [];
  const bind: Bind = (value) => {
    values.push(value);
    return `$${values.length}`;
  };
  const { status, name, version, parent, idPrefix, ids, attributes = {}, blocked } = filter;
  const { createdAfter, createdBefore, completedBefore } = filter;
  const all = [
    status === undefined ? null : statusCondition(status, bind),
    name === undefined ? null : `name = ${bind(name)}`,
    version === undefined ? null : `version = ${bind(version)}`,
    parent === null ? "parent_id IS NULL" : null,
    typeof parent === "string" ? `parent_id = ${bind(parent)}` : null,
    idPrefix === undefined ? null : prefixCondition(idPrefix, way, bind),
    ids === undefined ? null : `id = ANY (${bind(texts(ids))}::text[])`,
    ...Object.entries(attributes).map(([key, value]) => attributeCondition(key, value, bind)),
    blocked === undefined ? null : `blocked IS ${blocked ? "NOT NULL" : "NULL"}`,
    createdAfter === undefined ? null : `created_at > ${bind(createdAfter)}::double precision`,
    createdBefore === undefined ? null : `created_at < ${bind(createdBefore)}::double precision`,
    completedBefore === undefined
      ? null
      : `completed_at < ${bind(completedBefore)}::double precision`,
  ];
  const given = all.filter((condition) => condition !== null);
  const narrow = narrowOf(filter);
  if (given.length === 0) return { sql: "true", values, narrow };
  return { sql: given.map((sql) => `(${sql})`).join(" AND "), values, narrow };
}

function narrowOf({ status, blocked }: InstanceFilter): string {
  if (blocked === true) return "blocked IS NOT NULL";
  return (status === undefined ? null : indexOf(status)) ?? "true";
}

/** The condition of the index that holds all instances of these statuses; null: no index of some rows does. */
function indexOf(wanted: NonNullable<InstanceFilter["status"]>): string | null {
  if (wanted.length === 0) return null;
  if (wanted.every((status) => status === "paused")) return "paused IS NOT NULL";
  if (wanted.every((status) => status === "pending" || status === "running")) {
    return "completed_at IS NULL";
  }
  return wanted.every((status) => FAILED.includes(status)) ? "failed" : null;
}

/** A paused instance is that and nothing else, whatever it was before. */
function statusCondition(wanted: NonNullable<InstanceFilter["status"]>, bind: Bind): string {
  const statuses = wanted.filter((status) => status !== "paused");
  const isPaused = "paused IS NOT NULL";
  if (statuses.length === 0) return wanted.length === 0 ? "false" : isPaused;
  const unpaused = `status = ANY (${bind(texts(statuses))}::text[]) AND paused IS NULL`;
  if (wanted.includes("paused")) return `${isPaused} OR (${unpaused})`;
  const index = indexOf(wanted);
  return index === null ? unpaused : `${unpaused} AND ${index}`; // F3
}
const FAILED: readonly string[] = ["failed", "cancelled", "terminated"];

function attributeCondition(name: string, value: string, bind: Bind): string {
  // As it stands in the text, which tells nearly all others apart before they are read as JSON.
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `strpos(attributes, ${bind(member)}::text) > 0
    AND @attribute(attributes, ${bind(name)}::text) = ${bind(value)}::text`;
}

/** A walk goes by `id || ''`, which no index on ids serves: it would have to sort all ids that begin alike. */
function prefixCondition(prefix: string, way: Way, bind: Bind): string {
  const id = way === "walk" ? `(id || '') COLLATE "C"` : "id";
  const after = firstAfter(prefix);
  const from = `${id} >= ${bind(prefix)}::text`;
  return after === null ? from : `${from} AND ${id} < ${bind(after)}::text`;
}
