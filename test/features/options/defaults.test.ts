// Defaults: the numbers in the comments of the types and in the documentation match the code.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/core/values/limits.ts";
import { resolveOptions } from "../../../src/runtime/options.ts";
import { DEFAULT_SERVER_LIMITS } from "../../../src/server/options.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

/** The number after "Default" in the comment of each member, converted to milliseconds or bytes. */
function documented(path: string): ReadonlyMap<string, number> {
  const comments = read(path).matchAll(
    /\/\*\*((?:(?!\*\/)[^])*)\*\/\s+readonly (\w+)\??: number;/g,
  );
  return new Map(
    [...comments].flatMap(([, comment = "", name = ""]) => {
      const stated = /Default ([\d,]+|one hour)(?: (s|ms|MB|KiB|MiB|bytes))?(?![\w%])/.exec(
        comment,
      );
      return stated === null ? [] : [[name, numberOf(stated[1] ?? "", stated[2])] as const];
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

/** The members with a number both in the text and in the code. */
function compared(stated: ReadonlyMap<string, number>, defaults: object) {
  const pairs = Object.entries(defaults).filter(([name]) => stated.has(name));
  const code = Object.fromEntries(pairs) as Readonly<Record<string, unknown>>;
  return { code, stated: Object.fromEntries(pairs.map(([name]) => [name, stated.get(name)])) };
}

test("every default of the runtime options matches its comment", () => {
  const { code, stated } = compared(documented("src/runtime/options.ts"), resolveOptions({}, true));
  expect(Object.keys(code)).toHaveLength(18);
  expect(stated).toEqual(code);
});

test("every default limit matches its comment", () => {
  const limits = compared(documented("src/core/values/limits.ts"), DEFAULT_LIMITS);
  expect(limits.stated).toEqual(DEFAULT_LIMITS);
  const ofServer = compared(documented("src/server/options.ts"), DEFAULT_SERVER_LIMITS);
  expect(Object.keys(ofServer.code).length).toBeGreaterThan(12);
  expect(ofServer.stated).toEqual(ofServer.code);
});

test("the defaults in docs/running.md match the code", () => {
  const rows = [...read("docs/running.md").matchAll(/^\| `(\w+)`\s+\| ([\d,]+)\s+\|/gm)];
  const page = new Map(rows.map(([, name = "", text = ""]) => [name, numberOf(text)]));
  const { code, stated } = compared(page, resolveOptions({}, true));
  expect(Object.keys(code)).toHaveLength(15);
  expect(stated).toEqual(code);
});
