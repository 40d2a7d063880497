// Pending items: submitted items whose callers wait for the result of the commit.

import { PerdureError } from "../errors/errors.ts";
import type { CommitItem, CommitResult } from "../provider/commit.ts";

/** An item that waits for its result. */
export interface Pending {
  readonly item: CommitItem;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (reason: unknown) => void;
}

/** Resolves the callers' promises. Returns the items that have no result yet. */
export function answerCallers(
  group: readonly Pending[],
  results: readonly CommitResult[],
): Pending[] {
  const busy: Pending[] = [];
  for (const [index, pending] of group.entries()) {
    const result = results[index];
    if (result === undefined)
      throw new Error("The provider returned fewer results than it received items.");
    if (result.kind === "error") pending.reject(result.error);
    else if (result.kind === "busy") busy.push(pending);
    else pending.resolve(result);
  }
  return busy;
}

export function rejectAll(group: readonly Pending[], reason: PerdureError = closed()): [] {
  for (const pending of group) pending.reject(reason);
  return [];
}

export function closed(): PerdureError {
  return new PerdureError("SHUTTING_DOWN", "Perdure was closed before the store wrote this item.");
}
