// Outcome errors: for work that did not complete because it was cancelled, terminated or failed.
//   - The message of every cancellation is `cancelled: <reason>`. Users match on it.
//   - The `code` of an OrchestrationError depends only on its `kind`.

import { brandError } from "./brand.ts";
import { type ErrorCode, PerdureError } from "./errors.ts";
import type { Failure } from "./failure-record.ts";

/**
 * Awaiting a cancelled task rejects with this error, and so does every call after the instance was cancelled.
 */
export class CancelledError extends PerdureError {
  static {
    brandError(this, "CancelledError");
  }

  declare readonly code: "CANCELLED";
  override readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super("CANCELLED", `cancelled: ${reason}`, options);
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
  readonly instanceId: string;
  /** The name of the orchestration. Absent: the caller does not know it. */
  readonly orchestration?: string;
  readonly failure: Failure;
  /** `fromFailure(failure, codec)`. The caller creates it, because the caller has the codec. */
  readonly cause: unknown;
}

/** `handle.result()` rejects with this error if the instance did not complete. */
export class OrchestrationError extends PerdureError {
  static {
    brandError(this, "OrchestrationError");
  }

  declare readonly code: (typeof CODE_OF_KIND)[OrchestrationErrorKind];
  readonly kind: OrchestrationErrorKind;
  readonly instanceId: string;
  /** The name of the orchestration. Undefined from the HTTP client, which does not know it. */
  readonly orchestration: string | undefined;
  /** The failure as it is stored. It is not enumerable, because `cause` already prints it. */
  declare readonly failure: Failure;

  constructor(init: OrchestrationErrorInit) {
    super(CODE_OF_KIND[init.kind], init.failure.message, { cause: init.cause });
    this.kind = init.kind;
    this.instanceId = init.instanceId;
    this.orchestration = init.orchestration;
    Object.defineProperty(this, "failure", { value: init.failure });
  }
}
