// The input of orchestrations that the library itself starts: schedules and limiters take their state as
// input.
//   - A start with any other input, for example by name and without input, is an error. A client or a command
//        that has the definition throws it before anything is written. Otherwise the start fails (received.2).
//        The first turn throws it for a start that an older version has sent.
//   - The error says what to call instead. It has no stack, because every frame would belong to the library.

import { PerdureError } from "../errors/errors.ts";
import { validateNow, type StandardSchema } from "../values/standard-schema.ts";

/**
 * `members`: the members that every state has. `instead`: how to start the orchestration, for the message.
 */
export function stateSchema<State extends object>(
  members: readonly (keyof State & string)[],
  instead: string,
): StandardSchema<State> {
  const isState = (value: unknown): value is State =>
    typeof value === "object" && value !== null && members.every((name) => name in value);
  const validate = (value: unknown) =>
    isState(value) ? { value } : { issues: [{ message: instead }] };
  return { "~standard": { version: 1, vendor: "perdure", validate } };
}

/** Call it in the first line of the orchestration's function. */
export function checkState(schema: StandardSchema, state: unknown, name: string): void {
  try {
    validateNow(schema, state, `input of "${name}"`);
  } catch (error) {
    if (error instanceof PerdureError) error.stack = `${error.name}: ${error.message}`;
    throw error;
  }
}
