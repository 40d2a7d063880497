// Whole-number options, checked while commander parses the command line.

import { InvalidArgumentError } from "commander";

/** Returns an option parser for commander. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min && value <= max) {
      return value;
    }
    const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` and at most ${max}`;
    throw new InvalidArgumentError(`It must be a whole number of at least ${min}${upTo}.`);
  };
}
