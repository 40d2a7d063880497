// The result of a loop's body: another round, or the end of the loop.

import { PerdureError } from "../../core/errors/errors.ts";
import { showValue } from "../../core/ids/ids.ts";

/** Starts another round with this value. */
export interface Again<T> {
  readonly loop: "again";
  readonly value: T;
}
/** Ends the loop with this value. */
export interface Done<T> {
  readonly loop: "done";
  readonly value: T;
}
/** The result of a loop's body. */
export type LoopResult<A = unknown, D = unknown> = Again<A> | Done<D>;

/** Ends a round of a loop. The next round begins with this value. */
export function again<T>(value: T): Again<T> {
  return { loop: "again", value };
}
/** Ends a loop with this value. */
export function done<T>(value: T): Done<T> {
  return { loop: "done", value };
}

/** Throws for any other value: guessing would loop forever or stop too early. */
export function parseLoopResult(result: unknown, path: string): LoopResult {
  if (typeof result === "object" && result !== null && "loop" in result && "value" in result) {
    const { loop, value } = result;
    if (loop === "again" || loop === "done") return { loop, value };
  }
  const message = `The body of loop "${path}" must return again(…) or done(…); got ${showValue(result)}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}
