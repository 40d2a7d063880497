// Results: the commit results without data, as constants.

import type { AskResult } from "./asks.ts";
import type { BusyResult, SimpleResult, TurnResult } from "./commit.ts";

export const DONE = { kind: "done" } as const satisfies SimpleResult;
export const LEASE_LOST = refused("LEASE_LOST");
export const PAUSED = refused("PAUSED");
export const NOT_FOUND = refused("INSTANCE_NOT_FOUND");
export const FINISHED = refused("INSTANCE_FINISHED");
export const EXISTS = refused("INSTANCE_EXISTS");
export const LIMIT_EXCEEDED = refused("LIMIT_EXCEEDED");
export const CALLBACK_CLOSED = refused("CALLBACK_CLOSED");
export const KEY_REUSED = refused("KEY_REUSED");
export const BUSY = { kind: "busy" } as const satisfies BusyResult;

type RefusalCode = Extract<
  SimpleResult | TurnResult | AskResult,
  { readonly kind: "refused" }
>["code"];

function refused<const Code extends RefusalCode>(code: Code) {
  return { kind: "refused", code } as const;
}

/**
 * Whether a repeated request id belongs to a request with different contents. If either of the two has no
 * digest, only the id is compared.
 */
export function isOtherRequest(stored: string | null, given: string | undefined): boolean {
  return stored !== null && given !== undefined && stored !== given;
}
