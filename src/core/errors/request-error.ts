// RequestError: the error of an ask whose request was refused, or whose handler failed.

import { brandError } from "./brand.ts";
import { PerdureError } from "./errors.ts";
import type { Failure } from "./failure-record.ts";

export interface RequestErrorInit {
  readonly kind: "refused" | "failed";
  /** The instance that was asked. */
  readonly instanceId: string;
  readonly request: string;
  readonly failure: Failure;
  /** `fromFailure(failure, codec)`. The caller creates it, because the caller has the codec. */
  readonly cause: unknown;
}

/** `handle.ask` and `ctx.ask` reject with this error. The instance that was asked goes on. */
export class RequestError extends PerdureError {
  static {
    brandError(this, "RequestError");
  }

  declare readonly code: "REQUEST_REFUSED";
  /** "refused": the code or a schema refused the request. "failed": its handler threw. */
  readonly kind: "refused" | "failed";
  readonly instanceId: string;
  readonly request: string;
  /** The failure as it is stored. It is not enumerable, because `cause` already prints it. */
  declare readonly failure: Failure;

  constructor(init: RequestErrorInit) {
    super("REQUEST_REFUSED", init.failure.message, { cause: init.cause });
    this.kind = init.kind;
    this.instanceId = init.instanceId;
    this.request = init.request;
    Object.defineProperty(this, "failure", { value: init.failure });
  }
}
