// Failures: what was thrown, as it is stored, and back.
//   The record is in failure-record.ts, the way in in failure-capture.ts, the way out in failure-restore.ts.

export type { EncodedValue, Failure, FailureCategory } from "./failure-record.ts";
export { FAILURE_LIMITS } from "./failure-record.ts";
export { type FailureOptions, toFailure } from "./failure-capture.ts";
export { fromFailure } from "./failure-restore.ts";
