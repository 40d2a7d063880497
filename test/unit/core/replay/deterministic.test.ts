import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  deterministicRandom,
  deterministicUuid,
  nextSeed,
} from "../../../../src/core/replay/deterministic.ts";

const ZEROS = "0".repeat(32);
const SEED = "00112233445566778899aabbccddeeff";

// Stored behaviour (deterministic.1). An independent program computed these values; never edit a line of this table.
const GOLDEN = [
  [ZEROS, 1, 0, 0.3112500572329936, "20f6da0a-2247-4023-8915-c47b5c318fab"],
  [ZEROS, 1, 1, 0.4442865642468353, "fccdfa5a-2ffb-4d34-a7b2-7087a9173864"],
  [ZEROS, 2, 0, 0.7685633579234702, "a193c57b-dc03-4335-81dc-570a6d0c7732"],
  [SEED, 7, 3, 0.24429107535773587, "1536f2ba-13bd-4f39-8afc-38fbad5e7318"],
  ["f".repeat(32), 49_999, 123_456, 0.9143489422680063, "280edc6b-f66e-4318-bdc8-1dbb2d35c2bf"],
] as const;

describe("deterministic randomness", () => {
  test.each(GOLDEN)(
    "the values for seed %s, sequence %d, call %d have not changed",
    (seed, sequence, call, random, uuid) => {
      expect(deterministicRandom(seed, sequence, call)).toBe(random);
      expect(deterministicUuid(seed, sequence, call)).toBe(uuid);
    },
  );

  test("the seed of the next execution is derived from the current seed, and seeds do not repeat", () => {
    expect(nextSeed("fedcba9876543210fedcba9876543210")).toBe("0d36f06a66723b93b34f545dfac9acfc");
    const seeds = new Set<string>();
    for (let seed = SEED; seeds.size < 1_000; seed = nextSeed(seed)) {
      expect(seeds.has(seed)).toBe(false);
      seeds.add(seed);
    }
  });

  test("a random number is in [0, 1) and a multiple of 2^-53", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (sequence, call) => {
        const value = deterministicRandom(SEED, sequence, call);
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThan(1);
        expect(Number.isInteger(value * 2 ** 53)).toBe(true);
      }),
    );
  });

  test("a uuid is a valid version 4 uuid", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (sequence, call) => {
        expect(deterministicUuid(SEED, sequence, call)).toMatch(
          /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
      }),
    );
  });

  test("a different seed, sequence or call gives a different value, also when the concatenated digits are equal", () => {
    const uuids = new Set<string>();
    const randoms = new Set<number>();
    for (const seed of [ZEROS, SEED]) {
      for (let sequence = 0; sequence < 120; sequence++) {
        for (let call = 0; call < 120; call++) {
          uuids.add(deterministicUuid(seed, sequence, call));
          randoms.add(deterministicRandom(seed, sequence, call));
        }
      }
    }
    expect(uuids.size).toBe(2 * 120 * 120);
    expect(randoms.size).toBe(2 * 120 * 120);
  });

  test("random numbers are evenly distributed, down to the lowest bit", () => {
    let sum = 0;
    let odd = 0;
    const n = 10_000;
    for (let call = 0; call < n; call++) {
      const value = deterministicRandom(SEED, 1, call);
      sum += value;
      odd += (value * 2 ** 53) % 2;
    }
    expect(sum / n).toBeCloseTo(0.5, 1);
    expect(odd / n).toBeCloseTo(0.5, 1);
  });

  test("a uuid does not reveal the random number of the same sequence and call (deterministic.2)", () => {
    const random = deterministicRandom(SEED, 1, 0);
    const high = Number.parseInt(deterministicUuid(SEED, 1, 0).slice(0, 8), 16) / 2 ** 32;
    expect(Math.abs(random - high)).toBeGreaterThan(2 ** -32);
  });
});
