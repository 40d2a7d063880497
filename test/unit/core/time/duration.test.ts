import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DURATION_MS_MAX,
  formatDuration,
  parseDuration,
  type Duration,
} from "../../../../src/core/time/duration.ts";
import { showValue } from "../../../../src/core/ids/ids.ts";

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const UNITS = ["ms", "s", "m", "h", "d"] as const;

describe("parseDuration", () => {
  test.each<[Duration, number]>([
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["0s", 0],
    ["007s", 7_000],
    [0, 0],
    [1_500, 1_500],
    ["36525d", DURATION_MS_MAX],
    [DURATION_MS_MAX, DURATION_MS_MAX],
  ])("reads %j as %d milliseconds", (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  test.each<[Duration, number]>([
    ["1.5s", 1_500],
    ["0.5ms", 1],
    ["1.0001s", 1_001],
    ["2.3m", 138_000],
    ["1.1m", 66_000],
    ["0.0000000001d", 1],
    [0.2, 1],
    [1.5, 2],
  ])("rounds the fraction of %j up to %d whole milliseconds", (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  test("negative zero is zero", () => {
    expect(Object.is(parseDuration(-0), 0)).toBe(true);
  });

  const refused: unknown[] = [
    -1,
    NaN,
    Infinity,
    -Infinity,
    DURATION_MS_MAX + 1,
    "",
    "5",
    "s",
    "-5s",
    "+5s",
    ".5s",
    "5.s",
    "5 s",
    " 5s",
    "5s\n",
    "5S",
    "5sec",
    "1h30m",
    "1e3ms",
    "0x10s",
    "Infinitys",
    "36526d",
    "36525.1d",
    "1".repeat(100) + "s",
    `1.${"1".repeat(100)}s`,
    "٣s",
    null,
    undefined,
    true,
    5n,
    Symbol("5s"),
    ["5s"],
    { valueOf: () => 5 },
  ];
  test.each(refused.map((value) => [showValue(value), value]))("refuses %s", (_shown, value) => {
    expect(() => parseDuration(value as Duration)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });

  test("the error names the option, the value and the accepted forms", () => {
    expect(() => parseDuration("5sec" as Duration, "timeout")).toThrow(
      'timeout must be a duration such as "250ms", "30s", "5m", "2h", "7d", or a number of milliseconds, 0 or more; got "5sec".',
    );
    expect(() => parseDuration(-1)).toThrow("; got -1.");
    expect(() => parseDuration("99999d", "delay")).toThrow(
      'delay must be at most 100 years; got "99999d".',
    );
  });

  test("any decimal is rounded up to whole milliseconds (duration.1, duration.2)", () => {
    const digits = fc.integer({ min: 0, max: 999_999 });
    fc.assert(
      fc.property(fc.nat(36_000), digits, fc.constantFrom(...UNITS), (whole, micro, unit) => {
        const text = `${whole}.${String(micro).padStart(6, "0")}${unit}` as Duration;
        const millionths = (whole * 1_000_000 + micro) * UNIT_MS[unit];
        fc.pre(Number.isSafeInteger(millionths));
        expect(parseDuration(text)).toBe(Number((BigInt(millionths) + 999_999n) / 1_000_000n));
      }),
    );
  });
});

describe("formatDuration", () => {
  test.each([
    [0, "0ms"],
    [250.9, "250ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [1_500, "1.5s"],
    [59_999, "59.999s"],
    [60_000, "1m"],
    [90_500, "1m 30s"],
    [3_600_000, "1h"],
    [3_659_000, "1h"],
    [3_660_000, "1h 1m"],
    [86_400_000 * 2 + 3_600_000 * 3 + 5, "2d 3h"],
    [DURATION_MS_MAX, "36525d"],
    [-1_500, "-1.5s"],
    [Infinity, "Infinity"],
    [NaN, "NaN"],
  ])("writes %d as %j", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test("rounds down, by less than one of its smallest unit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX }), (ms) => {
        const parts = formatDuration(ms).split(" ");
        const shown = parts.reduce((sum, part) => sum + parseDuration(part as Duration), 0);
        const stepMs =
          ms < 60_000 ? 1 : ms < 3_600_000 ? 1_000 : ms < 86_400_000 ? 60_000 : 3_600_000;
        expect(shown).toBeLessThanOrEqual(ms);
        expect(ms - shown).toBeLessThan(stepMs);
      }),
    );
  });
});
