// Argument checks: the one source of INVALID_ARGUMENT errors for arguments and options.
//   - A message says what the argument must be and what was received: "limit must be …; got 0."
//   - An options object may hold only the members that its type names, so that a misspelt option is an error.
//   - The compiler compares each list of names with its type: an option cannot be missing from its list.

import { PerdureError, type PerdureErrorOptions } from "./errors/errors.ts";
import { showValue } from "./ids/ids.ts";

/** Every name that an options type has. */
export type Members<Options> = { readonly [Name in keyof Options]-?: true };

/** An error for an argument that breaks its rule. */
export function invalidArgument(message: string, options?: PerdureErrorOptions): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message, options);
}

/** Throws unless `given` is an object whose members are all among `members`. */
export function checkMembers<Options extends object>(
  given: Options,
  members: Members<NoInfer<Options>>,
  what: string,
): void {
  const value: unknown = given;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidArgument(`The options of ${what} must be an object; got ${showValue(value)}.`);
  }
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(members, name)) throw invalidArgument(unknownMember(name, members, what));
  }
}

/** The message about a member that is not known. It lists the known members. */
export function unknownMember(name: string, members: object, what: string): string {
  return `${what}: unknown option "${name}"; known options: ${Object.keys(members).join(", ")}.`;
}

/** Throws unless the value is absent or one of `choices`. */
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
  throw invalidArgument(`${what} must be ${list}; got ${showValue(given)}.`);
}

/** Throws unless the value is absent or a whole number of at least `least`. */
export function checkInteger(value: number | undefined, least: number, what: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  const got = showValue(value);
  throw invalidArgument(`${what} must be a whole number of at least ${least}; got ${got}.`);
}

/** Throws unless the value is absent, true or false. */
export function checkFlag(value: boolean | undefined, what: string): void {
  if (value === undefined || typeof value === "boolean") return;
  throw invalidArgument(`${what} must be true or false; got ${showValue(value)}.`);
}

/** The time of a Date. Throws for an invalid Date or another value. */
export function momentOf(date: Date, what: string): number {
  const given: unknown = date;
  const time = given instanceof Date ? given.getTime() : NaN;
  if (!Number.isNaN(time)) return time;
  const shown = given instanceof Date ? "an invalid Date" : showValue(given);
  throw invalidArgument(`${what} must be a valid Date; got ${shown}.`);
}

/** Throws unless the value is a function. */
export function checkFunction(value: unknown, what: string): void {
  if (typeof value === "function") return;
  throw invalidArgument(`${what} must be given a function; got ${showValue(value)}.`);
}
