// Failure: an error as it is stored. It is plain JSON, so that any tool can read a history, unless it is
// sealed.
//   - FAILURE_LIMITS bounds a Failure, whatever was thrown.
//   - `data`, `thrown`, `encoded` and `sealed` are codec texts. All other members are readable without the
//       codec.

export type FailureCategory = "application" | "infrastructure" | "configuration" | "poison";

/**
 * An error as it is stored: bounded plain JSON, readable without the codec unless the codec seals failures.
 */
export interface Failure {
  readonly category: FailureCategory;
  /** Set if user code did not throw the error: what caused it. */
  readonly kind?: "timeout" | "cancelled" | "terminated";
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly retryable: boolean;
  /** The error's `code`, if it is a string: a code of Perdure, or one such as `ECONNREFUSED`. */
  readonly code?: string;
  /** The nearest class that every process has (`TypeError`, `ActivityError`), if it is not `Error`. */
  readonly type?: string;
  readonly cause?: Failure | EncodedValue;
  /** The members of an AggregateError or a SuppressedError. */
  readonly errors?: readonly (Failure | EncodedValue)[];
  /** Codec text of the error's own properties, as far as the codec can restore them. */
  readonly data?: string;
  /** Codec text of the thrown value, if it was not an Error. */
  readonly thrown?: string;
  /**
   * Codec text of message, stack and causes, if the codec seals failures. `message` then only says that it is
   * sealed.
   */
  readonly sealed?: string;
}

/** A cause that is not an Error. */
export interface EncodedValue {
  readonly encoded: string;
}

export const FAILURE_LIMITS = {
  messageChars: 32_768,
  stackChars: 8_192,
  nameChars: 256,
  /** For each of `data`, `thrown` and `encoded`. */
  encodedChars: 32_768,
  /** The length of a chain of causes, the error itself included. */
  depth: 10,
  /** Errors in one Failure, causes and members of AggregateErrors together. */
  errors: 32,
  /** For all texts together, so that a failure stays far below the payload limit. */
  totalChars: 262_144,
} as const;

export function isEncodedValue(cause: Failure | EncodedValue): cause is EncodedValue {
  return "encoded" in cause;
}
