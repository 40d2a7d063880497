// Defaults: what the types' comments and the pages say is what the code does.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { resolveOptions } from "../../src/runtime/options.ts";
import { DEFAULT_SERVER_LIMITS } from "../../src/server/options.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** Numbers by member: what each comment in front of it says after "Default", a duration or size as its number. */
function documented(path: string): ReadonlyMap<string, number> {
  const comments = read(path).matchAll(
    /\/\*\*((?:(?!\*\/)[^])*)\*\/\s+readonly (\w+)\??: number;/g,
  );
  return new Map(
    [...comments].flatMap(([, comment = "", name = ""]) => {
      const said = /Default ([\d,]+|one hour)(?: (s|ms|MB|KiB|MiB|bytes))?(?![\w%])/.exec(comment);
      return said === null ? [] : [[name, numberOf(said[1] ?? "", said[2])] as const];
    }),
  );
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  MB: 1_000_000,
  KiB: 1_024,
  MiB: 1_024 * 1_024,
};

function numberOf(text: string, unit = ""): number {
  if (text === "one hour") return 3_600_000;
  return Number(text.replaceAll(",", "")) * (UNITS[unit] ?? 1);
}

/** Only members that have a number in both. */
function compared(said: ReadonlyMap<string, number>, defaults: object) {
  const pairs = Object.entries(defaults).filter(([name]) => said.has(name));
  const code = Object.fromEntries(pairs) as Readonly<Record<string, unknown>>;
  return { code, said: Object.fromEntries(pairs.map(([name]) => [name, said.get(name)])) };
}

test("every number of a runtime's options is the one that its comment names", () => {
  const { code, said } = compared(documented("src/runtime/options.ts"), resolveOptions({}, true));
  expect(Object.keys(code)).toHaveLength(18);
  expect(said).toEqual(code);
});

test("every limit is the one that its comment names", () => {
  const limits = compared(documented("src/core/limits.ts"), DEFAULT_LIMITS);
  expect(limits.said).toEqual(DEFAULT_LIMITS);
  const ofServer = compared(documented("src/server/options.ts"), DEFAULT_SERVER_LIMITS);
  expect(Object.keys(ofServer.code).length).toBeGreaterThan(12);
  expect(ofServer.said).toEqual(ofServer.code);
});

test("the page about running names the same numbers, for every one of them", () => {
  const rows = [...read("docs/running.md").matchAll(/^\| `(\w+)`\s+\| ([\d,]+)\s+\|/gm)];
  const page = new Map(rows.map(([, name = "", text = ""]) => [name, numberOf(text)]));
  const { code, said } = compared(page, resolveOptions({}, true));
  expect(Object.keys(code)).toHaveLength(15);
  expect(said).toEqual(code);
});
