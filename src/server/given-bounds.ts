// Bounds on values in requests: a body of a megabyte must not occupy the process for seconds.
//   GB1. Reading a decimal BigInt takes more than linear time. Long ones must come in hexadecimal (the tag "~h"), which
//        is what this package's clients send.
//   GB2. Numbers are hashed without a secret in V8, so a caller can choose Map and Set keys that all collide. Adding
//        them then takes quadratic time: 10,000 such keys take 0.1 s, 100,000 take 10 s.
//   GB3. Nesting and the number of members are bounded before (body.ts), so this walk is too.

import { PerdureError } from "../core/errors.ts";

const DECIMAL_DIGITS_MAX = 10_000;
const ENTRIES_MAX = 10_000;

/** Takes the codec's tagged form as a JSON tree. Throws `INVALID_ARGUMENT`. */
export function checkGivenBounds(tree: unknown): void {
  const counts = { entries: 0 };
  walk(tree, counts);
}

function walk(value: unknown, counts: { entries: number }): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) checkTag(value, counts);
  for (const member of Object.values(value)) walk(member, counts);
}

function checkTag([tag, ...parts]: readonly unknown[], counts: { entries: number }): void {
  const [text] = parts;
  if (tag === "~i" && typeof text === "string" && text.length > DECIMAL_DIGITS_MAX) {
    throw invalid(
      `A BigInt has ${text.length} decimal digits; more than ${DECIMAL_DIGITS_MAX} must be sent in ` +
        `hexadecimal: ["~h", "<digits>"].`,
    );
  }
  if (tag === "~s") counts.entries += parts.length;
  if (tag === "~m") counts.entries += parts.length / 2;
  if (counts.entries > ENTRIES_MAX) {
    throw invalid(
      `The Maps and Sets of the value have more than ${ENTRIES_MAX} entries; send an array or an object instead.`,
    );
  }
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
