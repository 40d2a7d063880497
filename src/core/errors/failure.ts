// Failures: the stored form of thrown values.
//   failure-record.ts has the type, failure-capture.ts creates a Failure from a thrown value,
//   failure-restore.ts creates an Error from a Failure, failure-seal.ts encrypts and decrypts with the codec.

export type { EncodedValue, Failure, FailureCategory } from "./failure-record.ts";
export { FAILURE_LIMITS } from "./failure-record.ts";
export { type FailureOptions, toFailure } from "./failure-capture.ts";
export { fromFailure, toOrchestrationError } from "./failure-restore.ts";
export { openFailure } from "./failure-seal.ts";
