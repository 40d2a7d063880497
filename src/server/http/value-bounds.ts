// Limits on values in requests: a body of one megabyte must not block the process for seconds.
//   - Parsing a decimal BigInt takes more than linear time. Long ones must be sent in hexadecimal (the tag
//        "~h"), as this package's clients do.
//   - V8 hashes numbers without a secret, so a caller can choose Map and Set keys that all collide.
//        Inserting them takes quadratic time: 10,000 such keys take 0.1 s, 100,000 take 10 s.
//   - body.ts limits nesting and members first, so this walk is bounded.

import { invalidArgument } from "../../core/checks.ts";

const DECIMAL_DIGITS_MAX = 10_000;
const ENTRIES_MAX = 10_000;

/** Checks a value in the codec's tagged form (a JSON tree). Throws `INVALID_ARGUMENT`. */
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
    throw invalidArgument(
      `A BigInt has ${text.length} decimal digits; more than ${DECIMAL_DIGITS_MAX} must be sent in ` +
        `hexadecimal: ["~h", "<digits>"].`,
    );
  }
  if (tag === "~s") counts.entries += parts.length;
  if (tag === "~m") counts.entries += parts.length / 2;
  if (counts.entries > ENTRIES_MAX) {
    throw invalidArgument(
      `The Maps and Sets of the value have more than ${ENTRIES_MAX} entries; send an array or an object instead.`,
    );
  }
}
