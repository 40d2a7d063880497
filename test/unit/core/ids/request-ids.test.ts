import { describe, expect, test } from "vitest";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";
import { parseRequestId } from "../../../../src/core/ids/ids.ts";
import {
  GENERATED,
  generatedBefore,
  generateRequestId,
} from "../../../../src/core/ids/request-ids.ts";

const NOW = Date.UTC(2026, 0, 1);
const at = (time: number): string =>
  generateRequestId({ now: () => time, randomHex: (bytes) => "0".repeat(2 * bytes) });

describe("a generated request id", () => {
  test("consists of the prefix `perdure.`, the creation time and 16 random hex digits", () => {
    expect(generateRequestId(new VirtualEnvironment())).toMatch(
      /^perdure\.0mjuohs00-[0-9a-f]{16}$/,
    );
    expect(parseRequestId(at(NOW))).toBe(at(NOW));
  });

  test("differs from other ids of the same millisecond", () => {
    const environment = new VirtualEnvironment();
    const ids = Array.from({ length: 100 }, () => generateRequestId(environment));
    expect(new Set(ids).size).toBe(100);
  });

  test("sorts by creation time, independent of its random part", () => {
    const times = [0, 1, 35, 36, 1_000_000, NOW - 1, NOW, NOW + 1, 36 ** 8 - 1, 36 ** 8];
    const ids = times.map((time, i) => `${generatedBefore(time)}-${(99 - i).toString(16)}`);
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.every((id) => id > GENERATED)).toBe(true);
  });

  test("has a constant length and sorts by time until the year 5188", () => {
    const last = 36 ** 9 - 1;
    expect(new Date(last).getUTCFullYear()).toBe(5188);
    expect(at(last)).toHaveLength(at(0).length);
    expect(at(last) > at(last - 1)).toBe(true);
    expect(at(last + 1).length).toBeGreaterThan(at(0).length);
  });
});

describe("generatedBefore", () => {
  test("sorts after every id generated earlier and before every id generated at or after its time", () => {
    for (const time of [1, 36 ** 8, NOW, NOW + 35, NOW + 36]) {
      expect(at(time - 1) < generatedBefore(time)).toBe(true);
      expect(at(time) > generatedBefore(time)).toBe(true);
      expect(at(time + 1) > generatedBefore(time)).toBe(true);
    }
  });

  test("ignores fractions of a millisecond", () => {
    expect(generatedBefore(NOW + 0.75)).toBe(generatedBefore(NOW));
    expect(at(NOW + 0.25)).toBe(at(NOW));
  });
});
