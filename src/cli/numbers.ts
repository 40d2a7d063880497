// Whole numbers on the command line, checked while it is parsed.

import { InvalidArgumentError } from "commander";

/** A parser of an option's text. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min && value <= max) {
      return value;
    }
    const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` and at most ${max}`;
    throw new InvalidArgumentError(`It is a whole number of at least ${min}${upTo}.`);
  };
}
