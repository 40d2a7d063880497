// The input of orchestrations that the library itself starts: schedules and gates take their state as input.
//   SS1. A start with another input, for example by name and without input, is refused: by the client and the command
//        line before anything is written where they have the definition, else by the first turn.
//   SS2. The error says what to call instead. It has no stack: every frame would be one of the library.

import { PerdureError } from "./errors.ts";
import { validateNow, type StandardSchema } from "./standard-schema.ts";

/** `members` are what every state has. `instead` says how the orchestration is started. */
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

/** For the first line of the orchestration's function. */
export function checkState(schema: StandardSchema, state: unknown, name: string): void {
  try {
    validateNow(schema, state, `input of "${name}"`);
  } catch (error) {
    if (error instanceof PerdureError) error.stack = `${error.name}: ${error.message}`;
    throw error;
  }
}
