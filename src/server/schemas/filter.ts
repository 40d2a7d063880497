// The filter of lists, counts and bulk operations, as a query string and as a body.

import * as v from "valibot";
import { defined } from "../../core/values/defined.ts";
import { attributes, queryFlag, queryWhole, status, timestamp } from "./common.ts";

export const PAGE_MAX = 1_000;
const IDS_MAX = 1_000;

const ids = v.pipe(v.array(v.string()), v.maxLength(IDS_MAX));

const both = {
  status: v.exactOptional(v.pipe(v.array(status), v.maxLength(7))),
  name: v.exactOptional(v.string()),
  version: v.exactOptional(v.string()),
  idPrefix: v.exactOptional(v.string()),
  attributes: v.exactOptional(attributes),
  createdAfter: v.exactOptional(timestamp),
  createdBefore: v.exactOptional(timestamp),
  completedBefore: v.exactOptional(timestamp),
};

export const bodyFilter = v.strictObject({
  ...both,
  /** Null: instances without a parent. */
  parent: v.exactOptional(v.nullable(v.string())),
  ids: v.exactOptional(ids),
  blocked: v.exactOptional(v.boolean()),
});

const filterEntries = {
  ...both,
  parent: v.exactOptional(v.string()),
  /** True: instances without a parent. */
  root: v.exactOptional(queryFlag),
  id: v.exactOptional(ids),
  blocked: v.exactOptional(queryFlag),
};
export const filterQuery = v.strictObject(filterEntries);

export const listQuery = v.strictObject({
  ...filterEntries,
  cursor: v.exactOptional(v.pipe(v.string(), v.maxLength(500))),
  limit: v.exactOptional(queryWhole({ min: 1, max: PAGE_MAX })),
  order: v.exactOptional(v.picklist(["newest", "oldest"])),
});

export type FilterQuery = v.InferOutput<typeof filterQuery>;
export type BodyFilter = v.InferOutput<typeof bodyFilter>;

/** Converts the filter of a query string to the form of a body. */
export function filterOfQuery(query: FilterQuery): BodyFilter {
  const { root, id, ...rest } = query;
  return {
    ...rest,
    ...(root === true ? { parent: null } : {}),
    ...defined({ ids: id }),
  };
}
