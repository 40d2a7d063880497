// Known members: an options object holds what its type names and nothing else, so that a misspelt option is refused
// and not left out in silence.
//   KM1. The compiler compares each list of names with its type: an option cannot be added and forgotten here.

import { PerdureError } from "./errors.ts";
import { showValue } from "./ids.ts";

/** Every name that an options type has. */
export type Members<Options> = { readonly [Name in keyof Options]-?: true };

/** Refuses what is no object, and an object with a member that is not among these. */
export function checkMembers<Options extends object>(
  given: Options,
  members: Members<NoInfer<Options>>,
  what: string,
): void {
  const value: unknown = given;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The options of ${what} are an object, not ${showValue(value)}.`);
  }
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(members, name)) throw invalid(stranger(name, members, what));
  }
}

/** Says that a member is not known, and which are. */
export function stranger(name: string, members: object, what: string): string {
  return `${what} has no option "${name}"; it knows ${Object.keys(members).join(", ")}.`;
}

/** Refuses what is neither absent nor one of these. */
export function checkChoice<const Choice extends string>(
  value: Choice | undefined,
  choices: readonly Choice[],
  what: string,
): void {
  const given: unknown = value;
  if (given === undefined || choices.some((choice) => choice === given)) return;
  const list =
    choices.length > 2
      ? `one of ${choices.join(", ")}`
      : choices.map((choice) => `"${choice}"`).join(" or ");
  throw invalid(`${what} is ${list}, not ${showValue(given)}.`);
}

/** Refuses what is neither absent nor a whole number from `least` on. */
export function checkWhole(value: number | undefined, least: number, what: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw invalid(`${what} is a whole number from ${least} on, not ${showValue(value)}.`);
}

/** Refuses what is neither absent nor true or false. */
export function checkFlag(value: boolean | undefined, what: string): void {
  if (value === undefined || typeof value === "boolean") return;
  throw invalid(`${what} is true or false, not ${showValue(value)}.`);
}

/** Refuses what is no function. */
export function checkFunction(value: unknown, what: string): void {
  if (typeof value !== "function")
    throw invalid(`${what} needs a function, not ${showValue(value)}.`);
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
