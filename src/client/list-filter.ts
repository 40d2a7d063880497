// The filter for instances: checks a caller's filter and converts it to the store's filter.
//   - An unknown member raises an error. Ignoring it would match too many instances, and a bulk delete
//        would remove them.

import { parseAttributes } from "../core/define/attributes.ts";
import { checkStorable, showValue } from "../core/ids/ids.ts";
import {
  checkFlag,
  checkMembers,
  invalidArgument,
  momentOf,
  type Members,
} from "../core/checks.ts";
import type { InstanceFilter } from "../core/provider/index.ts";
import { defined } from "../core/values/defined.ts";
import { INSTANCE_STATUSES } from "../core/provider/shared/row-checks.ts";

/** Selects instances. Every member that is given must match. */
export interface ListFilter extends Omit<
  InstanceFilter,
  "status" | "createdAfter" | "createdBefore" | "completedBefore"
> {
  readonly status?: Status | readonly Status[];
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly completedBefore?: Date;
}
type Status = NonNullable<InstanceFilter["status"]>[number];

const FILTER: Members<ListFilter> = {
  status: true,
  name: true,
  version: true,
  parent: true,
  idPrefix: true,
  ids: true,
  attributes: true,
  blocked: true,
  createdAfter: true,
  createdBefore: true,
  completedBefore: true,
};
const STATUSES: readonly Status[] = [...INSTANCE_STATUSES, "paused"];

export function storeFilter(filter: ListFilter): InstanceFilter {
  checkMembers(filter, FILTER, "a filter of instances");
  const { status, createdAfter, createdBefore, completedBefore, ...rest } = filter;
  for (const name of ["name", "version", "idPrefix"] as const) checkText(rest[name], name);
  if (rest.parent !== null) checkText(rest.parent, "parent");
  if (rest.ids !== undefined) for (const id of listOf(rest.ids, "ids")) checkText(id, "ids");
  if (rest.attributes !== undefined) parseAttributes(rest.attributes, { mayBeNull: false });
  checkFlag(rest.blocked, "blocked");
  return {
    ...rest,
    ...defined({
      status: status === undefined ? undefined : statusesOf(status),
      createdAfter: time(createdAfter, "createdAfter"),
      createdBefore: time(createdBefore, "createdBefore"),
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
