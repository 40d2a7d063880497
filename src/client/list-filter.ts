// The filter for instances: checks a caller's filter and converts it to the store's filter.
//   - An unknown member raises an error. Ignoring it would match too many instances, and a bulk delete
//        would remove them.

import { parseAttributes, type Attributes } from "../core/define/attributes.ts";
import { checkStorable, showValue } from "../core/ids/ids.ts";
import {
  checkFlag,
  checkMembers,
  invalidArgument,
  momentOf,
  type Members,
} from "../core/checks.ts";
import type { InstanceFilter } from "../core/provider/index.ts";
import { storeWhere, type AttributesWhere } from "./attribute-where.ts";
import { defined } from "../core/values/defined.ts";
import { INSTANCE_STATUSES } from "../core/provider/shared/row-checks.ts";

/** Selects instances. Every member that is given must match. */
export interface ListFilter extends Omit<
  InstanceFilter,
  | "status"
  | "attributes"
  | "where"
  | "text"
  | "createdAfter"
  | "createdBefore"
  | "completedAfter"
  | "completedBefore"
> {
  readonly status?: Status | readonly Status[];
  /** Each attribute must have this value. The same as `where` with bare values. */
  readonly attributes?: Attributes;
  readonly where?: AttributesWhere;
  /** Found in the id or in the name, in upper or lower case, or written exactly like an attribute's text or number. */
  readonly text?: string;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly completedAfter?: Date;
  readonly completedBefore?: Date;
}
type Status = NonNullable<InstanceFilter["status"]>[number];

export const FILTER: Members<ListFilter> = {
  status: true,
  name: true,
  version: true,
  parent: true,
  idPrefix: true,
  ids: true,
  attributes: true,
  where: true,
  text: true,
  blocked: true,
  createdAfter: true,
  createdBefore: true,
  completedAfter: true,
  completedBefore: true,
};
const STATUSES: readonly Status[] = [...INSTANCE_STATUSES, "paused"];

export function storeFilter(filter: ListFilter): InstanceFilter {
  checkMembers(filter, FILTER, "a filter of instances");
  const { status, attributes, where, ...others } = filter;
  const { createdAfter, createdBefore, completedAfter, completedBefore, ...rest } = others;
  for (const name of ["name", "version", "idPrefix", "text"] as const) checkText(rest[name], name);
  if (rest.parent !== null) checkText(rest.parent, "parent");
  if (rest.ids !== undefined) for (const id of listOf(rest.ids, "ids")) checkText(id, "ids");
  checkFlag(rest.blocked, "blocked");
  if (rest.text === "") throw invalidArgument("text must not be empty.");
  return {
    ...rest,
    ...defined({
      status: status === undefined ? undefined : statusesOf(status),
      attributes:
        attributes === undefined ? undefined : parseAttributes(attributes, { mayBeNull: false }),
      where: where === undefined ? undefined : storeWhere(where),
      createdAfter: time(createdAfter, "createdAfter"),
      createdBefore: time(createdBefore, "createdBefore"),
      completedAfter: time(completedAfter, "completedAfter"),
      completedBefore: time(completedBefore, "completedBefore"),
    }),
  };
}

function statusesOf(given: unknown): readonly Status[] {
  return (typeof given === "string" ? [given] : listOf(given, "status")).map((status) => {
    const known = STATUSES.find((each) => each === status);
    if (known !== undefined) return known;
    const list = STATUSES.join(", ");
    throw invalidArgument(`status must be one of ${list}; got ${showValue(status)}.`);
  });
}

function listOf(given: unknown, what: string): readonly unknown[] {
  if (Array.isArray(given)) return given;
  throw invalidArgument(`${what} must be an array of strings; got ${showValue(given)}.`);
}

function checkText(given: unknown, what: string): void {
  if (given === undefined) return;
  if (typeof given === "string") return checkStorable(given, what);
  throw invalidArgument(`${what} must be a string; got ${showValue(given)}.`);
}

function time(given: Date | undefined, what: string): number | undefined {
  return given === undefined ? undefined : momentOf(given, what);
}
