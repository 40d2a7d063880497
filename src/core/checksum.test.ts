import { expect, test } from "vitest";
import { checksumFor, checksumOf, isDamaged, type Covered } from "./checksum.ts";

const PARTS: readonly Covered[] = [7, 1, 2 ** 40 + 3, null, "activity", "", '{"v":1,"e":["ü€😀"]}'];

test("every single bit of every number and of every text changes the checksum", () => {
  const whole = checksumOf(...PARTS);
  for (const [place, part] of PARTS.entries()) {
    for (const other of neighboursOf(part)) {
      expect(checksumOf(...PARTS.with(place, other))).not.toBe(whole);
    }
  }
});

test("a checksum is a whole number of 32 bits, and stays what it is", () => {
  expect(checksumOf(...PARTS)).toBe(checksumOf(...PARTS));
  expect(checksumOf(1, 1, 1, 2, "data")).toBe(1_476_588_125);
  expect(checksumOf("x") | 0).toBe(checksumOf("x"));
});

test("a letter that passes from one text to the next, nothing and the empty text are told apart", () => {
  expect(checksumOf("ab", "c")).not.toBe(checksumOf("a", "bc"));
  expect(checksumOf("a", null)).not.toBe(checksumOf("a", ""));
  expect(checksumOf("a", "")).not.toBe(checksumOf("a"));
});

test("a row without a checksum is damaged unless all of it is null; so is a row with a wrong one, and every copy", () => {
  expect(isDamaged(null, "text")).toBe(true);
  expect(isDamaged(null, null, "")).toBe(true);
  expect(isDamaged(null, null, null)).toBe(false);
  expect(isDamaged(checksumOf("text"), "text")).toBe(false);
  expect(isDamaged(checksumOf("text"), "texu")).toBe(true);
  expect(isDamaged(checksumFor({}, "text"), "text")).toBe(false);
  expect(isDamaged(checksumFor({ damaged: true }, "text"), "text")).toBe(true);
});

/** What one flipped bit makes of it. */
function neighboursOf(part: Covered): readonly Covered[] {
  if (part === null) return [0, 1, ""];
  if (typeof part === "number") {
    return Array.from({ length: 50 }, (_, bit) => Number(BigInt(part) ^ (1n << BigInt(bit))));
  }
  const bytes = Buffer.from(part);
  return Array.from({ length: bytes.length * 8 }, (_, bit) => {
    const other = Buffer.from(bytes);
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return other.toString();
  });
}
