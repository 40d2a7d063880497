// Which instances: a client's filter, checked, in the store's words.
//   LF1. A filter that is not understood is refused: left out, it would match more than was meant, and be deleted.

import { parseAttributes } from "../core/attributes.ts";
import { PerdureError } from "../core/errors.ts";
import { checkStorable, showValue } from "../core/ids.ts";
import { checkFlag, checkMembers, type Members } from "../core/known-members.ts";
import type { InstanceFilter } from "../core/provider/index.ts";
import { INSTANCE_STATUSES } from "../core/provider/row-checks.ts";

/** As the store's filter, with dates. */
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
    ...(status === undefined ? {} : { status: statusesOf(status) }),
    ...(createdAfter === undefined ? {} : { createdAfter: time(createdAfter, "createdAfter") }),
    ...(createdBefore === undefined ? {} : { createdBefore: time(createdBefore, "createdBefore") }),
    ...(completedBefore === undefined
      ? {}
      : { completedBefore: time(completedBefore, "completedBefore") }),
  };
}

function statusesOf(given: unknown): readonly Status[] {
  return (typeof given === "string" ? [given] : listOf(given, "status")).map((status) => {
    const known = STATUSES.find((each) => each === status);
    if (known !== undefined) return known;
    throw invalid(`status is one of ${STATUSES.join(", ")}, not ${showValue(status)}.`);
  });
}

function listOf(given: unknown, what: string): readonly unknown[] {
  if (Array.isArray(given)) return given;
  throw invalid(`${what} is a list of texts, not ${showValue(given)}.`);
}

function checkText(given: unknown, what: string): void {
  if (given === undefined) return;
  if (typeof given === "string") return checkStorable(given, what);
  throw invalid(`${what} is a text, not ${showValue(given)}.`);
}

function time(given: unknown, what: string): number {
  const at = given instanceof Date ? given.getTime() : NaN;
  if (Number.isNaN(at)) throw invalid(`${what} is a valid Date.`);
  return at;
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
