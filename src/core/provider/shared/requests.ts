// Requests: how a repeated request id is answered (semantics 18a).

import type { SimpleResult, StartItem, StartResult } from "../commit.ts";
import { DONE, isOtherRequest, KEY_REUSED } from "../results.ts";

export const REQUEST_OUTCOMES = ["started", "existing", "done", "closed"] as const;

export interface RequestKey {
  readonly instance: number;
  readonly kind: "start" | "send" | "rewind";
  readonly id: string;
}
export interface RequestOutcome {
  readonly outcome: (typeof REQUEST_OUTCOMES)[number];
  readonly execution: number;
  readonly digest: string | null;
}

/**
 * The result of a start whose request id belongs to an earlier start. It gets no lease, even if that start
 * got one.
 */
export function repeatedStart(
  key: number,
  { outcome, execution, digest }: RequestOutcome,
  { requestDigest }: Pick<StartItem, "requestDigest">,
): StartResult {
  if (isOtherRequest(digest, requestDigest)) return KEY_REUSED;
  if (outcome === "existing") return { kind: "existing", key, execution };
  return { kind: "started", key, execution, leased: null };
}

/** The result of a send whose request id belongs to an earlier send. */
export function repeatedSend(stored: string | null, given: string | undefined): SimpleResult {
  return isOtherRequest(stored, given) ? KEY_REUSED : DONE;
}
