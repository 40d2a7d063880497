// Requests and answers of bulk operations.

import * as v from "valibot";
import { whole } from "./common.ts";
import { bulkFilter } from "./filter.ts";
import { removed } from "./store.ts";

/** The members that the body of every bulk operation has. */
export const whichEntries = {
  filter: bulkFilter,
  dryRun: v.exactOptional(v.boolean()),
  /** The cursor of an earlier answer with the same filter: goes on after its last instance. */
  cursor: v.exactOptional(v.pipe(v.string(), v.maxLength(500))),
  limit: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
};

export const which = v.strictObject(whichEntries);

export const bulkAnswer = v.object({
  dryRun: v.boolean(),
  /** Instances that match the filter and that the operation applies to. */
  matched: whole,
  /** Instances that were changed; at most the limit. 0 with `dryRun`. */
  applied: whole,
  refusedCount: whole,
  /** The first of the refused instances; with `dryRun`, of those that would be refused. */
  refused: v.array(v.object({ id: v.string(), code: v.string(), message: v.string() })),
  /** What a delete or a prune removed. */
  removed: v.exactOptional(removed),
  /** Set if the limit was reached before the last instance. */
  cursor: v.exactOptional(v.string()),
});
