// Failure: an error as it is stored. Plain JSON, so that a history can be read by anything, unless it is sealed.
//   F1. A Failure is bounded, whatever was thrown: FAILURE_LIMITS.
//   F2. `data`, `thrown`, `encoded` and `sealed` are codec texts; all else is readable without the codec.

export type FailureCategory = "application" | "infrastructure" | "configuration" | "poison";

/** An error as it is stored: plain JSON, bounded, readable without a codec unless that seals failures. */
export interface Failure {
  readonly category: FailureCategory;
  /** How it came about, where that was not by a throw in user code. */
  readonly kind?: "timeout" | "cancelled" | "terminated";
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly retryable: boolean;
  /** The error's `code`, if that is a string: one of ours, or such as `ECONNREFUSED`. */
  readonly code?: string;
  /** The nearest class that every process knows (`TypeError`, `ActivityError`), if it is not `Error`. */
  readonly type?: string;
  readonly cause?: Failure | EncodedValue;
  /** An AggregateError's. */
  readonly errors?: readonly (Failure | EncodedValue)[];
  /** Codec text of the error's own properties, as far as the codec can restore them. */
  readonly data?: string;
  /** Codec text of what was thrown, if that was no Error. */
  readonly thrown?: string;
  /** Codec text of message, stack and causes, where the codec seals failures; `message` then says no more than that. */
  readonly sealed?: string;
}

/** A cause that is no Error. */
export interface EncodedValue {
  readonly encoded: string;
}

export const FAILURE_LIMITS = {
  messageChars: 32_768,
  stackChars: 8_192,
  nameChars: 256,
  /** Of `data`, `thrown` or `encoded`, each. */
  encodedChars: 32_768,
  /** How far down the causes are followed: an error, its cause, and so on, ten errors in all. */
  depth: 10,
  /** Errors in one Failure, causes and members of AggregateErrors together. */
  errors: 32,
  /** Of all texts together, so that a failure stays far below the limit of a payload. */
  totalChars: 262_144,
} as const;

export function isEncodedValue(cause: Failure | EncodedValue): cause is EncodedValue {
  return "encoded" in cause;
}
