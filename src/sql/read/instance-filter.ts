// Instance filter: the filter of a list as a SQL condition on an instance `i`.
//   - Members are combined with AND; an empty list matches nothing (admin.1).
//   - Every value is a parameter. An id prefix becomes a range of ids, so no character in it has a special
//       meaning.
//   - The condition is complete: whichever index finds candidates (list-sources.ts), it decides which of them match.
//       It keeps the planner from using another index than the one that was chosen.

import type { InstanceFilter } from "../../core/provider/admin.ts";
import { firstAfter } from "../../core/provider/shared/id-prefix.ts";
import { exists } from "../index-lookup.ts";
import type { Bind } from "../script/parameters.ts";
import { attributeCondition, testsOf, writtenLike } from "./attribute-tests.ts";

/** What differs between the stores. */
export interface FilterParts {
  /** What stands before and after a column of texts, so that no index is used for it. */
  readonly unindexedText: {
    readonly before: "+" | "(";
    readonly after: "" | ` || '') COLLATE "C"`;
  };
}

/**
 * A filter that is ready to become a condition. `textKeys`: the instances of which an attribute is written like
 * `text`; null: too many to list.
 */
export interface ReadyFilter extends InstanceFilter {
  readonly textKeys?: readonly number[] | null;
}

export function conditionOf(filter: ReadyFilter, bind: Bind, parts: FilterParts): string {
  const { status, name, version, parent, idPrefix, ids, blocked, text } = filter;
  const time = (column: string, beyond: string, at: number | undefined): string | null =>
    at === undefined ? null : `${column} ${beyond} ${bind(at)}::double precision`;
  const id = unindexed("i.id", parts);
  const all = [
    status === undefined ? null : statusCondition(status, bind),
    name === undefined ? null : `${unindexed("i.name", parts)} = ${bind(name)}::text`,
    version === undefined ? null : `i.version = ${bind(version)}::text`,
    parent === null ? "i.parent_id IS NULL" : null,
    typeof parent === "string"
      ? `${unindexed("i.parent_id", parts)} = ${bind(parent)}::text`
      : null,
    idPrefix === undefined ? null : prefixCondition(idPrefix, id, bind),
    ids === undefined ? null : `${id} = ANY (${bind(ids)}::text[])`,
    ...testsOf(filter).map(([key, test]) => attributeCondition(key, test, bind)),
    text === undefined ? null : textCondition(text, filter.textKeys, bind),
    blocked === undefined ? null : `i.blocked IS ${blocked ? "NOT NULL" : "NULL"}`,
    time("i.created_at", ">", filter.createdAfter),
    time("i.created_at", "<", filter.createdBefore),
    time("i.completed_at", ">", filter.completedAfter),
    time("i.completed_at", "<", filter.completedBefore),
  ];
  const given = all.filter((condition) => condition !== null);
  return given.length === 0 ? "true" : given.map((sql) => `(${sql})`).join(" AND ");
}

export function unindexed(column: string, { unindexedText }: FilterParts): string {
  return `${unindexedText.before}${column}${unindexedText.after}`;
}

/** A paused instance matches only "paused", whatever its stored status is. */
function statusCondition(wanted: NonNullable<InstanceFilter["status"]>, bind: Bind): string {
  const statuses = wanted.filter((status) => status !== "paused");
  const isPaused = "i.paused IS NOT NULL";
  if (statuses.length === 0) return wanted.length === 0 ? "false" : isPaused;
  const marks = statuses.map((status) => `${bind(status)}::text`).join(", ");
  const unpaused = `i.status IN (${marks}) AND i.paused IS NULL`;
  return wanted.includes("paused") ? `${isPaused} OR (${unpaused})` : unpaused;
}

export function prefixCondition(prefix: string, id: string, bind: Bind): string {
  const after = firstAfter(prefix);
  const from = `${id} >= ${bind(prefix)}::text`;
  return after === null ? from : `${from} AND ${id} < ${bind(after)}::text`;
}

/** admin.8. Both stores lower only A to Z: PostgreSQL because of the collation of the columns. */
function textCondition(
  text: string,
  keys: readonly number[] | null | undefined,
  bind: Bind,
): string {
  const lowered = bind(text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
  const found = ["id", "name"].map((column) => `strpos(lower(i.${column}), ${lowered}::text) > 0`);
  return [...found, attributeWrittenLike(text, keys, bind)].join(" OR ");
}

function attributeWrittenLike(
  text: string,
  keys: readonly number[] | null | undefined,
  bind: Bind,
): string {
  if (keys !== null && keys !== undefined) return `i.key = ANY (${bind(keys)}::bigint[])`;
  const like = writtenLike(text, bind).map((sql) => `(${sql})`);
  return exists(`FROM @attributes AS a WHERE a.instance = i.key AND (${like.join(" OR ")})`);
}
