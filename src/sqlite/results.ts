// Results: the answers that need no more than a word.

import type { SimpleResult } from "../core/provider/commit.ts";

export const DONE = { kind: "done" } as const satisfies SimpleResult;
export const LEASE_LOST = { kind: "refused", code: "LEASE_LOST" } as const satisfies SimpleResult;
export const NOT_FOUND = {
  kind: "refused",
  code: "INSTANCE_NOT_FOUND",
} as const satisfies SimpleResult;
export const FINISHED = {
  kind: "refused",
  code: "INSTANCE_FINISHED",
} as const satisfies SimpleResult;
