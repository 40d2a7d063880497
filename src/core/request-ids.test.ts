import { describe, expect, test } from "vitest";
import { VirtualEnvironment } from "../testing/virtual-environment.ts";
import { parseRequestId } from "./ids.ts";
import { MADE_UP, madeUpBefore, makeUpRequestId } from "./request-ids.ts";

const NOW = Date.UTC(2026, 0, 1);
const at = (time: number): string =>
  makeUpRequestId({ now: () => time, randomHex: (bytes) => "0".repeat(2 * bytes) });

describe("a made-up request id", () => {
  test("is its time and 16 digits of chance, under a prefix of ours", () => {
    expect(makeUpRequestId(new VirtualEnvironment())).toMatch(/^perdure\.0mjuohs00-[0-9a-f]{16}$/);
    expect(parseRequestId(at(NOW))).toBe(at(NOW));
  });

  test("differs from the next one of the same millisecond", () => {
    const environment = new VirtualEnvironment();
    const ids = Array.from({ length: 100 }, () => makeUpRequestId(environment));
    expect(new Set(ids).size).toBe(100);
  });

  test("sorts by its time as text, whatever its chance", () => {
    const times = [0, 1, 35, 36, 1_000_000, NOW - 1, NOW, NOW + 1, 36 ** 8 - 1, 36 ** 8];
    const ids = times.map((time, i) => `${madeUpBefore(time)}-${(99 - i).toString(16)}`);
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.every((id) => id > MADE_UP)).toBe(true);
  });

  test("has as many digits until the year 5188, and sorts until then", () => {
    const last = 36 ** 9 - 1;
    expect(new Date(last).getUTCFullYear()).toBe(5188);
    expect(at(last)).toHaveLength(at(0).length);
    expect(at(last) > at(last - 1)).toBe(true);
    expect(at(last + 1).length).toBeGreaterThan(at(0).length);
  });
});

describe("the bound of a time", () => {
  test("lies behind every id that was made up before, and before every other one", () => {
    for (const time of [1, 36 ** 8, NOW, NOW + 35, NOW + 36]) {
      expect(at(time - 1) < madeUpBefore(time)).toBe(true);
      expect(at(time) > madeUpBefore(time)).toBe(true);
      expect(at(time + 1) > madeUpBefore(time)).toBe(true);
    }
  });

  test("counts whole milliseconds", () => {
    expect(madeUpBefore(NOW + 0.75)).toBe(madeUpBefore(NOW));
    expect(at(NOW + 0.25)).toBe(at(NOW));
  });
});
