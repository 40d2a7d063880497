import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareVersions, parseVersion } from "../../../../src/core/ids/semver.ts";

// The order of semver.org, §11, and the cases around it. Each is older than the next.
const OLDEST_FIRST = [
  "0.0.0-0",
  "0.0.0",
  "0.0.1",
  "0.1.0",
  "1.0.0-0",
  "1.0.0-2",
  "1.0.0-10",
  "1.0.0-99999999999999999999",
  "1.0.0-100000000000000000000",
  "1.0.0--",
  "1.0.0-1a",
  "1.0.0-Beta",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-alpha.beta",
  "1.0.0-beta",
  "1.0.0-beta.2",
  "1.0.0-beta.11",
  "1.0.0-rc.1",
  "1.0.0",
  "1.0.9",
  "1.0.10",
  "1.2.0",
  "1.10.0",
  "2.0.0-a",
  "2.0.0",
  "10.0.0",
];

describe("parseVersion", () => {
  test("returns the parts of a version", () => {
    expect(parseVersion("1.20.3-beta.11.x-y+build.007.-")).toEqual({
      major: 1,
      minor: 20,
      patch: 3,
      prerelease: ["beta", "11", "x-y"],
    });
    expect(parseVersion("1.0.0")).toMatchObject({ prerelease: [] });
    expect(parseVersion("1.0.0+a-b")).toMatchObject({ prerelease: [] });
  });

  test.each<unknown>([
    "",
    "1",
    "1.2",
    "1.2.3.4",
    "v1.2.3",
    "=1.2.3",
    "^1.2.3",
    "1.2.x",
    " 1.2.3",
    "1.2.3\n",
    "01.2.3",
    "1.02.3",
    "1.2.03",
    "-1.2.3",
    "1.2.3-",
    "1.2.3-a..b",
    "1.2.3-01",
    "1.2.3+",
    "1.2.3+a..b",
    "1.2.3+a+b",
    "1.2.3-ä",
    "9007199254740992.0.0",
    `1.2.3-${"a".repeat(256)}`,
    undefined,
    null,
    1,
    ["1.2.3"],
  ])("refuses %j", (text) => {
    expect(() => parseVersion(text as string)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });

  test("the error names the required form", () => {
    expect(() => parseVersion("v1")).toThrow(
      "version must be a semantic version: major.minor.patch",
    );
  });

  test("refuses a very long or adversarial text without slow matching", () => {
    expect(() => parseVersion("1.0.0-" + "-0".repeat(120) + "!")).toThrow();
    expect(() => parseVersion("1.0.0-" + "a.".repeat(5_000_000))).toThrow();
  });
});

describe("compareVersions", () => {
  test("orders as semver.org does", () => {
    for (const [i, left] of OLDEST_FIRST.entries()) {
      for (const [j, right] of OLDEST_FIRST.entries()) {
        const order = Math.sign(compareVersions(parseVersion(left), parseVersion(right)));
        expect(order, `${left} against ${right}`).toBe(Math.sign(i - j));
      }
    }
  });

  test("ignores build metadata", () => {
    expect(compareVersions(parseVersion("1.0.0+a"), parseVersion("1.0.0+b"))).toBe(0);
    expect(compareVersions(parseVersion("1.0.0-rc+a"), parseVersion("1.0.0-rc"))).toBe(0);
  });

  test("sorts any permutation into the same order", () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(OLDEST_FIRST, { minLength: OLDEST_FIRST.length }),
        (shuffled) => {
          const sorted = shuffled.map(parseVersion).sort(compareVersions);
          expect(sorted).toEqual(OLDEST_FIRST.map(parseVersion));
        },
      ),
    );
  });
});
