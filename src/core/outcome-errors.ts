// How work ends other than by its own result: cancelled, terminated, failed.
//   O1. `canceled: <reason>` is the message of every cancellation; users match on it (semantics 30).
//   O2. An OrchestrationError's `code` follows from its `kind`, and from nothing else.

import { brandError } from "./error-brand.ts";
import { type ErrorCode, PerdureError } from "./errors.ts";
import type { Failure } from "./failure-record.ts";

/** A cancelled task of any kind, and every await after a cancel, rejects with it. */
export class CancelledError extends PerdureError {
  static {
    brandError(this, "CancelledError");
  }

  declare readonly code: "CANCELLED";
  override readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super("CANCELLED", `canceled: ${reason}`, options);
    this.reason = reason;
  }
}

const CODE_OF_KIND = {
  failed: "ORCHESTRATION_FAILED",
  cancelled: "CANCELLED",
  terminated: "TERMINATED",
} as const satisfies Record<string, ErrorCode>;

export type OrchestrationErrorKind = keyof typeof CODE_OF_KIND;

export interface OrchestrationErrorInit {
  readonly kind: OrchestrationErrorKind;
  readonly failure: Failure;
  /** `fromFailure(failure, codec)`, made by the caller because it knows the codec. */
  readonly cause: unknown;
}

/** `handle.result()` rejects with it when the instance did not complete. */
export class OrchestrationError extends PerdureError {
  static {
    brandError(this, "OrchestrationError");
  }

  declare readonly code: (typeof CODE_OF_KIND)[OrchestrationErrorKind];
  readonly kind: OrchestrationErrorKind;
  readonly failure: Failure;

  constructor(init: OrchestrationErrorInit) {
    super(CODE_OF_KIND[init.kind], init.failure.message, { cause: init.cause });
    this.kind = init.kind;
    this.failure = init.failure;
  }
}
