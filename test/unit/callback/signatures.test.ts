// Comparing signatures.

import { createHmac } from "node:crypto";
import type * as nodeCrypto from "node:crypto";
import { expect, test, vi } from "vitest";
import { isRecent, isSigned } from "../../../src/callback/signatures.ts";

const compared = vi.hoisted(() => ({ calls: 0 }));
vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof nodeCrypto>();
  return {
    ...crypto,
    timingSafeEqual: (a: Buffer, b: Buffer) => {
      compared.calls += 1;
      return crypto.timingSafeEqual(a, b);
    },
  };
});

const keys = ["one", "two", "three"].map((key) => Buffer.from(key));
const digestOf = (key: string) => createHmac("sha256", key).update("body").digest();

test("S44: a check makes the same comparisons wherever the signature matches, and if none does", () => {
  const other = Buffer.alloc(32, 7);
  for (const [signatures, expected] of [
    [[digestOf("one"), other], true],
    [[other, digestOf("three")], true],
    [[other, other], false],
    [[Buffer.alloc(3), Buffer.alloc(0)], false],
  ] as const) {
    compared.calls = 0;
    expect(isSigned(keys, ["bo", Buffer.from("dy")], signatures)).toBe(expected);
    expect(compared.calls).toBe(keys.length * signatures.length);
  }
});

test("a signature of zeros is not the placeholder of a signature of another length", () => {
  expect(isSigned(keys, ["body"], [Buffer.alloc(31)])).toBe(false);
  expect(isSigned(keys, ["body"], [])).toBe(false);
});

test("a header with more signatures than a sender writes is refused", () => {
  const many = Array.from({ length: 21 }, () => digestOf("one"));
  expect(isSigned(keys, ["body"], many)).toBe(false);
  expect(isSigned(keys, ["body"], many.slice(1))).toBe(true);
});

test.each(["", "-1", "1e3", "0x10", "1.5", " 1", "NaN", "9".repeat(30)])(
  "the timestamp %j is refused",
  (timestamp) => {
    expect(isRecent(timestamp, 1_000)).toBe(false);
  },
);
