// Made-up request ids: those of calls whose callers gave none, so that a commit whose answer was lost can be repeated (I14).
//   MU1. They begin with their time and sort by it, byte by byte: the old ones of an instance are a range of an index.
//   MU2. Whoever makes one up repeats it only while its one call is under way (GC3 of committer.ts, HT1 of
//        http-transport.ts); nobody else knows it. After MADE_UP_KEPT_MS a store may forget it; who is cut off for longer
//        than that, in the middle of a commit, pays for it (docs/decisions/0019). An id that a caller chose may be
//        repeated at any time, and is kept as long as its instance (semantics 18a).
//   MU3. Their time is that of whoever made them up, and may be wrong. So the range only says where to look: what is
//        forgotten is decided by when the store wrote it, by its own clock (I3).

import type { Environment } from "./environment.ts";

/** What they begin with: the first of them sorts behind it. */
export const MADE_UP = "perdure.";
/** How long one is remembered, at least. */
export const MADE_UP_KEPT_MS = 6 * 3_600_000;

const DIGITS = 9; // of base 36: enough until the year 5188
const RANDOM_BYTES = 8;

export function makeUpRequestId(environment: Pick<Environment, "now" | "randomHex">): string {
  return `${madeUpBefore(environment.now())}-${environment.randomHex(RANDOM_BYTES)}`;
}

/** Every id that was made up before this millisecond sorts before it, every other one behind it. */
export function madeUpBefore(time: number): string {
  return MADE_UP + Math.floor(time).toString(36).padStart(DIGITS, "0");
}

/** What a generated id begins with, its time included; empty for any other id. */
export function generatedHead(id: string): string {
  return GENERATED_HEAD.exec(id)?.[0] ?? "";
}

const GENERATED_HEAD = new RegExp(`^perdure\\.[0-9a-z]{${DIGITS}}-`);
