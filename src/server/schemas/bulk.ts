// Bulk operations: what they are asked with, and what they tell.

import * as v from "valibot";
import { whole } from "./common.ts";
import { bodyFilter } from "./filter.ts";
import { removed } from "./store.ts";

/** What every bulk operation is asked with. */
export const whichEntries = {
  filter: bodyFilter,
  dryRun: v.exactOptional(v.boolean()),
  limit: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
};

export const which = v.strictObject(whichEntries);

export const bulkAnswer = v.object({
  dryRun: v.boolean(),
  /** Found by the filter, and open to the operation. */
  matched: whole,
  /** Done to; at most the limit. */
  applied: whole,
  refusedCount: whole,
  /** Some of them. */
  refused: v.array(v.object({ id: v.string(), code: v.string(), message: v.string() })),
  /** By deleting and pruning. */
  removed: v.exactOptional(removed),
});
