// Failures, as people and programs read them: an error, what its code threw, and why, down to the first cause.

import * as v from "valibot";
import { value } from "./common.ts";
import type { CauseShape, FailureShape } from "./shapes.ts";

export const failure: v.GenericSchema<FailureShape> = v.object({
  name: v.string(),
  message: v.string(),
  category: v.string(),
  retryable: v.boolean(),
  kind: v.exactOptional(v.string()),
  code: v.exactOptional(v.string()),
  type: v.exactOptional(v.string()),
  stack: v.exactOptional(v.string()),
  data: v.exactOptional(value),
  thrown: v.exactOptional(value),
  cause: v.exactOptional(v.lazy(() => cause)),
  errors: v.exactOptional(v.array(v.lazy(() => cause))),
});

export const cause: v.GenericSchema<CauseShape> = v.union([
  v.lazy(() => failure),
  v.object({ value: v.exactOptional(value) }),
]);

/** How an instance ended other than by completing. */
export const ending = v.object({
  kind: v.picklist(["failed", "cancelled", "terminated"]),
  code: v.string(),
  failure,
  compensationFailures: v.exactOptional(v.array(failure)),
});

/** As much of it as a list shows. */
export const briefEnding = v.object({
  kind: v.picklist(["failed", "cancelled", "terminated"]),
  name: v.string(),
  message: v.string(),
});
