// Generated request ids: for calls without a request id from the caller, so that a commit whose reply was
// lost can be retried (I14).
//   - An id begins with its time and sorts by it, byte by byte: the old ids of an instance are a range of an
//       index.
//   - A client retries with a generated id only during the call that generated it (committer.3,
//        http-transport.1 of http-transport.ts). After GENERATED_KEPT_MS a store may delete the id. A client
//        that is cut off for longer during a commit may therefore write twice (docs/decisions/0019). An id
//        that the caller chose may be repeated at any time; the store keeps it as long as its instance
//        (semantics 18a).
//   - The time in an id comes from the client's clock, which may be wrong. The range therefore only says
//        where to look. The store decides by its own clock, by when it wrote the id, what to delete (I3).

import type { Environment } from "../time/environment.ts";

/** The prefix of generated ids. Every generated id sorts after it. */
export const GENERATED = "perdure.";
/** How long a store keeps a generated id, at least. */
export const GENERATED_KEPT_MS = 6 * 3_600_000;

const DIGITS = 9; // of base 36: enough until the year 5188
const RANDOM_BYTES = 8;

export function generateRequestId(environment: Pick<Environment, "now" | "randomHex">): string {
  return `${generatedBefore(environment.now())}-${environment.randomHex(RANDOM_BYTES)}`;
}

/** Ids generated before this millisecond sort before the result, all others after it. */
export function generatedBefore(time: number): string {
  return GENERATED + Math.floor(time).toString(36).padStart(DIGITS, "0");
}

/** The prefix of a generated id, including its time; empty for any other id. */
export function generatedHead(id: string): string {
  return GENERATED_HEAD.exec(id)?.[0] ?? "";
}

const GENERATED_HEAD = new RegExp(`^perdure\\.[0-9a-z]{${DIGITS}}-`);
