// Results: the commit results without data, as constants.

import type { BusyResult, SimpleResult, TurnResult } from "./commit.ts";

export const DONE = { kind: "done" } as const satisfies SimpleResult;
export const LEASE_LOST = { kind: "refused", code: "LEASE_LOST" } as const satisfies SimpleResult;
export const PAUSED = { kind: "refused", code: "PAUSED" } as const satisfies TurnResult;
export const NOT_FOUND = {
  kind: "refused",
  code: "INSTANCE_NOT_FOUND",
} as const satisfies SimpleResult;
export const FINISHED = {
  kind: "refused",
  code: "INSTANCE_FINISHED",
} as const satisfies SimpleResult;
export const LIMIT_EXCEEDED = {
  kind: "refused",
  code: "LIMIT_EXCEEDED",
} as const satisfies SimpleResult;
export const KEY_REUSED = { kind: "refused", code: "KEY_REUSED" } as const satisfies SimpleResult;
export const BUSY = { kind: "busy" } as const satisfies BusyResult;

/**
 * Whether a repeated request id belongs to a request with different contents. If either of the two has no
 * digest, only the id is compared.
 */
export function isOtherRequest(stored: string | null, given: string | undefined): boolean {
  return stored !== null && given !== undefined && stored !== given;
}
