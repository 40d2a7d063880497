// Failures: an error with its properties, the thrown value, and the chain of its causes.

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

/** How an instance failed, or was cancelled or terminated. */
export const ending = v.object({
  kind: v.picklist(["failed", "cancelled", "terminated"]),
  code: v.string(),
  failure,
  compensationFailures: v.exactOptional(v.array(failure)),
});

/** The short form for lists. */
export const briefEnding = v.object({
  kind: v.picklist(["failed", "cancelled", "terminated"]),
  name: v.string(),
  message: v.string(),
});
