// The codec either restores a value exactly or refuses it at encoding; it never changes a value (class-tags.2, I10).

import { deepStrictEqual } from "node:assert";
import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { isPerdureError } from "../../../../src/core/errors/errors.ts";

const VALUES = process.env["PERDURE_FULL"] === "1" ? 100_000 : 3_000;
const { encode, decode } = defaultCodec;

/** Any 16-bit units, so lone surrogates occur, and texts that are difficult for databases and JSON. */
const texts = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
  fc.constantFrom("", "\0", "a\0b", "\ud800", "\udfff\ud800", "\ufeff", "\u2028", "\\u0000", "~"),
  fc.constantFrom("\u00e9", "e\u0301", "\u212b", "A\u030a", "~u", "~n", "__proto__", "toJSON"),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code).repeat(65_536)),
);
const numbers = fc.oneof(
  fc.double(),
  fc.constantFrom(-0, NaN, Infinity, -Infinity, 5e-324, Number.MAX_VALUE, 2 ** 53, 2 ** 53 + 2),
  fc.constantFrom(Number.MIN_SAFE_INTEGER, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 1e21, 1e-7),
);
const anything = fc.anything({
  key: texts,
  values: [texts, numbers, fc.boolean(), fc.constantFrom(null, undefined, 0, "", false)],
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  size: "small",
});

test(`${VALUES} values are restored or refused, never changed`, { timeout: 600_000 }, () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const counts = { restored: 0, refused: 0 };
  const property = fc.property(anything, (value) => {
    const text = written(value);
    if (text === null) {
      counts.refused += 1;
      return;
    }
    counts.restored += 1;
    expect(text.isWellFormed() && !text.includes("\0"), "every store can keep the text").toBe(true);
    const restored = decode(text);
    deepStrictEqual(restored, value);
    expect(encode(restored)).toBe(text); // with its keys in the same order
  });
  fc.assert(property, { seed, numRuns: VALUES });
  expect(Math.min(counts.restored, counts.refused), `seed ${seed}`).toBeGreaterThan(VALUES / 100);
});

/** The encoded text; null if the codec refused the value with a PerdureError. */
function written(value: unknown): string | null {
  try {
    return encode(value);
  } catch (error) {
    if (isPerdureError(error)) return null;
    throw error;
  }
}
