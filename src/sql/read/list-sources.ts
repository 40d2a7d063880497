// List sources: the indexes through which a list can find candidates.
//   - A source finds every instance that matches one member of the filter, without reading the others. The
//       condition of the whole filter is applied to what it finds (instance-filter.ts).
//   - list-sources.1: An ordered source finds the instances in the order of their creation, so a list can read on
//       until its page is full. The others must be read completely and sorted.
//   - list-sources.2: PostgreSQL has the indexes of live and of failed instances by name, because each index costs every
//       start and every end. A list of all names reads as many instances of each name as it needs, and merges them.
//   - The condition of a partial index is repeated in the source, so that the planner may use that index.

import type { AttributeTest, InstanceFilter } from "../../core/provider/admin.ts";
import type { Bind } from "../script/parameters.ts";
import { isOneValue, testBranches, testsOf } from "./attribute-tests.ts";
import { prefixCondition, unindexed, type FilterParts } from "./instance-filter.ts";

/** Rows of one index: SQL with bound parameters. */
export interface SourceBranch {
  readonly from: string;
  readonly where: string;
  /** The index is in the order of creation within each name only: a SELECT of the names (list-sources.2). */
  readonly names: string | null;
  /** The key and the creation time of the instance. */
  readonly key: string;
  readonly created: string;
}

/** A member of the filter that an index can find. "all": all instances, in the order of creation. */
export type Source =
  | {
      readonly kind:
        "all" | "live" | "blocked" | "status" | "name" | "ids" | "idPrefix" | "parent" | "ended";
    }
  | { readonly kind: "attribute"; readonly name: string; readonly test: AttributeTest };

/** What differs between the stores. */
export interface SourceParts extends FilterParts {
  /** The condition of a partial index that has all instances `i` of these statuses; null if there is none. */
  indexOf(wanted: Statuses): string | null;
  /** If that index is on names: a SELECT of the names that it can have. Null: it is in the order of creation. */
  namesOf(wanted: Statuses): string | null;
  /** The conditions of indexes on names that together have all instances `i` of these statuses. */
  namedBy(wanted: Statuses | undefined): readonly string[];
  /** Conditions on `i`, each the beginning of an index on the time of the end. Together: all that have ended. */
  readonly ended: readonly string[];
}

export const ALL: Source = { kind: "all" };
export const LIVE: Source = { kind: "live" };

type Statuses = NonNullable<InstanceFilter["status"]>;
const LIVE_STATUSES: Statuses = ["pending", "running"];

/** The sources of a filter. Of the ordered ones, the first is likely to find the fewest. */
export function sourcesOf(filter: InstanceFilter, parts: SourceParts): readonly Source[] {
  const { status, name, parent, idPrefix, ids, blocked, completedAfter, completedBefore } = filter;
  const kinds = {
    blocked: blocked === true,
    status: status !== undefined && isStatusSource(filter, status, parts),
    name: name !== undefined,
    ids: ids !== undefined,
    idPrefix: idPrefix !== undefined && idPrefix !== "",
    parent: typeof parent === "string",
    ended: completedAfter !== undefined || completedBefore !== undefined,
  };
  const given = Object.keys(kinds) as (keyof typeof kinds)[]; // the names above
  return [
    ...testsOf(filter).flatMap(([each, test]): Source[] =>
      test.exists === false ? [] : [{ kind: "attribute", name: each, test }],
    ),
    ...given.filter((kind) => kinds[kind]).map((kind): Source => ({ kind })),
  ];
}

/** A name finds a part of what the status finds, if the name's index has the status. */
function isStatusSource({ name }: InstanceFilter, status: Statuses, parts: SourceParts): boolean {
  if (name !== undefined && parts.namesOf(status) !== null) return false;
  return parts.indexOf(status) !== null;
}

/** list-sources.1 */
export function isOrdered(source: Source): boolean {
  if (source.kind === "attribute") return isOneValue(source.test);
  return ["all", "live", "blocked", "status", "name"].includes(source.kind);
}

export function branchesOf(
  source: Source,
  filter: InstanceFilter,
  bind: Bind,
  parts: SourceParts,
): readonly SourceBranch[] {
  const { status, name = "", parent, idPrefix = "", ids = [] } = filter;
  switch (source.kind) {
    case "attribute":
      return testBranches(source.test, bind).map((test) => ({
        from: "@attributes AS a",
        names: null,
        where: `a.name = ${bind(source.name)}::text AND ${test}`,
        key: "a.instance",
        created: "a.created_at",
      }));
    case "all":
      return [ofInstances("true")];
    case "blocked":
      return [ofInstances("i.blocked IS NOT NULL")];
    case "live":
      return ofStatus(filter, LIVE_STATUSES, bind, parts);
    case "status":
      return ofStatus(filter, status ?? [], bind, parts);
    case "name":
      return ofName(name, status, bind, parts);
    case "ids":
      return [ofInstances(`i.id = ANY (${bind(ids)}::text[])`)];
    case "idPrefix":
      return [ofInstances(prefixCondition(idPrefix, "i.id", bind))];
    case "parent":
      return [ofInstances(`i.parent_id = ${bind(parent ?? null)}::text`)];
    case "ended":
      return parts.ended.map((each) => ofInstances(`${each} AND ${endedWithin(filter, bind)}`));
  }
}

function ofName(
  name: string,
  status: Statuses | undefined,
  bind: Bind,
  parts: SourceParts,
): readonly SourceBranch[] {
  const indexes = parts.namedBy(status);
  return indexes.map((where) => ofInstances(`${where} AND i.name = ${bind(name)}::text`));
}

function ofStatus(
  { name }: InstanceFilter,
  status: Statuses,
  bind: Bind,
  parts: SourceParts,
): readonly SourceBranch[] {
  const where = parts.indexOf(status) ?? "true";
  const names = parts.namesOf(status);
  if (name === undefined) return [ofInstances(where, names)];
  if (names !== null) return ofName(name, status, bind, parts);
  // The index has the name, too.
  return [ofInstances(`${where} AND ${unindexed("i.name", parts)} = ${bind(name)}::text`)];
}

function endedWithin({ completedAfter, completedBefore }: InstanceFilter, bind: Bind): string {
  const from = Math.floor(completedAfter ?? Number.MIN_SAFE_INTEGER);
  const until = Math.ceil(completedBefore ?? Number.MAX_SAFE_INTEGER);
  return `i.completed_at > ${bind(from)}::bigint AND i.completed_at < ${bind(until)}::bigint`;
}

function ofInstances(where: string, names: string | null = null): SourceBranch {
  return { from: "@instances AS i", where, names, key: "i.key", created: "i.created_at" };
}
