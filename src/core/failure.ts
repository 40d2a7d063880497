// Failures: what was thrown, as it is stored, and back.
//   The record is in failure-record.ts, the way in in failure-capture.ts, the way out in failure-restore.ts. What
//   nobody may read without the codec is put under seal and opened in failure-seal.ts.

export type { EncodedValue, Failure, FailureCategory } from "./failure-record.ts";
export { FAILURE_LIMITS } from "./failure-record.ts";
export { type FailureOptions, toFailure } from "./failure-capture.ts";
export { fromFailure } from "./failure-restore.ts";
export { openFailure } from "./failure-seal.ts";
