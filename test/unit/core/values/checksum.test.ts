import { expect, test } from "vitest";
import {
  checksumOfCopy,
  checksumOf,
  isDamaged,
  type ChecksumPart,
} from "../../../../src/core/values/checksum.ts";

const PARTS: readonly ChecksumPart[] = [
  7,
  1,
  2 ** 40 + 3,
  null,
  "activity",
  "",
  '{"v":1,"e":["ü€😀"]}',
];

test("flipping any bit of a number or a text changes the checksum", () => {
  const whole = checksumOf(...PARTS);
  for (const [index, part] of PARTS.entries()) {
    for (const other of neighboursOf(part)) {
      expect(checksumOf(...PARTS.with(index, other))).not.toBe(whole);
    }
  }
});

test("a checksum is a 32-bit integer and does not change between versions", () => {
  expect(checksumOf(...PARTS)).toBe(checksumOf(...PARTS));
  expect(checksumOf(1, 1, 1, 2, "data")).toBe(1_476_588_125);
  expect(checksumOf("x") | 0).toBe(checksumOf("x"));
});

test("the boundaries between texts, null and the empty text all affect the checksum", () => {
  expect(checksumOf("ab", "c")).not.toBe(checksumOf("a", "bc"));
  expect(checksumOf("a", null)).not.toBe(checksumOf("a", ""));
  expect(checksumOf("a", "")).not.toBe(checksumOf("a"));
});

test("a row is damaged with a wrong checksum, without a checksum unless all columns are null, and as a copy of a damaged row", () => {
  expect(isDamaged(null, "text")).toBe(true);
  expect(isDamaged(null, null, "")).toBe(true);
  expect(isDamaged(null, null, null)).toBe(false);
  expect(isDamaged(checksumOf("text"), "text")).toBe(false);
  expect(isDamaged(checksumOf("text"), "texu")).toBe(true);
  expect(isDamaged(checksumOfCopy({}, "text"), "text")).toBe(false);
  expect(isDamaged(checksumOfCopy({ damaged: true }, "text"), "text")).toBe(true);
});

/** The values that differ from `part` in one bit. */
function neighboursOf(part: ChecksumPart): readonly ChecksumPart[] {
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
