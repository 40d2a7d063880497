// The filter of lists, counts and bulk operations, as a query string and as a body.

import * as v from "valibot";
import type { AttributesWhere } from "../../client/attribute-where.ts";
import { defined } from "../../core/values/defined.ts";
import { whereFromHttp } from "../wire/attributes.ts";
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
  text: v.exactOptional(v.string()),
  createdAfter: v.exactOptional(timestamp),
  createdBefore: v.exactOptional(timestamp),
  completedAfter: v.exactOptional(timestamp),
  completedBefore: v.exactOptional(timestamp),
};

const WHERE =
  'Tests of attributes by name: a value, or an object with eq, in, gt, gte, lt, lte, before, after, prefix, exists. A date is `{ "date": text }`.';
/** Tests of attributes. The client checks them. */
const where = v.pipe(
  v.unknown(),
  v.metadata({ type: "object", description: WHERE }),
  v.rawTransform(({ dataset, addIssue, NEVER }): AttributesWhere => {
    const tests = whereOf(dataset.value);
    if (tests !== undefined) return tests;
    addIssue({ message: "must be an object of tests" });
    return NEVER;
  }),
);
/** The same as JSON text, in a query string. */
const queryWhere = v.pipe(
  v.string(),
  v.metadata({ type: "string", description: `JSON text. ${WHERE}` }),
  v.rawTransform(({ dataset, addIssue, NEVER }): AttributesWhere => {
    const tests = whereOf(parsed(dataset.value));
    if (tests !== undefined) return tests;
    addIssue({ message: "must be the JSON text of an object of tests" });
    return NEVER;
  }),
);

function whereOf(json: unknown): AttributesWhere | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  return whereFromHttp(json) as AttributesWhere; // checked by the client (attribute-where.ts)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const bodyFilter = v.strictObject({
  ...both,
  where: v.exactOptional(where),
  /** Null: instances without a parent. */
  parent: v.exactOptional(v.nullable(v.string())),
  ids: v.exactOptional(ids),
  blocked: v.exactOptional(v.boolean()),
});

/** The filter of a bulk operation. An empty one is refused; `all` selects every instance (bulk.1). */
export const bulkFilter = v.strictObject({
  ...bodyFilter.entries,
  all: v.exactOptional(v.literal(true)),
});

const filterEntries = {
  ...both,
  where: v.exactOptional(queryWhere),
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
  orderBy: v.exactOptional(v.picklist(["createdAt", "updatedAt", "completedAt"])),
  order: v.exactOptional(v.picklist(["desc", "asc", "newest", "oldest"])),
  /** Also return some of what each instance waits for. */
  waits: v.exactOptional(queryFlag),
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
