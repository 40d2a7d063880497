// How the body of a loop says whether there is another round.

import { PerdureError } from "../core/errors.ts";

/** Another round, with this value. */
export interface Again<T> {
  readonly loop: "again";
  readonly value: T;
}
/** The loop is over; this is its value. */
export interface Done<T> {
  readonly loop: "done";
  readonly value: T;
}
/** What the body of a loop ends in. */
export type LoopResult<A = unknown, D = unknown> = Again<A> | Done<D>;

/** Ends a round of a loop: the next one begins with this value. */
export function again<T>(value: T): Again<T> {
  return { loop: "again", value };
}
/** Ends a loop with this value. */
export function done<T>(value: T): Done<T> {
  return { loop: "done", value };
}

/** Refuses what is neither: guessing would loop for ever or stop too early. */
export function parseLoopResult(result: unknown, path: string): LoopResult {
  if (typeof result === "object" && result !== null && "loop" in result && "value" in result) {
    const { loop, value } = result;
    if (loop === "again" || loop === "done") return { loop, value };
  }
  const message = `The body of loop "${path}" ended in neither again(…) nor done(…).`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}
