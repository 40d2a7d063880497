// An unsupported Node can load every entry point of the package far enough to print which version is needed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OutputChunk } from "rolldown";
import { bundle } from "../../scripts/package/bundle.ts";

/** Imports that Node 18 can link. `npm run test:package` loads the package on Node 18, 20 and 22. */
const NODE_18 = /^import \{ (?!.*\b(?:crc32|hash|enableCompileCache|registerHooks|styleText)\b)/;
/** Started by the engine itself, after the check has passed. */
const THREAD = /-thread\.js$/;

const folder = mkdtempSync(join(tmpdir(), "perdure-old-node-"));
let files: OutputChunk[] = [];
beforeAll(async () => {
  files = await bundle(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every entry point checks the version of Node before anything else", () => {
  const entries = files.filter(({ isEntry, fileName }) => isEntry && !THREAD.test(fileName));
  expect(entries.length).toBeGreaterThan(10);
  for (const { fileName, code } of entries) {
    expect(code.replace(/^#!.*\n/, ""), fileName).toMatch(
      /^import "(?:\.\.?\/)+node-version\.js";/,
    );
  }
});

test("no file imports what Node 18 cannot link", () => {
  for (const { fileName, code } of files) {
    const builtins = code.match(/^import .* from "node:.*";$/gm) ?? [];
    const younger = builtins.filter((line) => !NODE_18.test(line) || line.includes("node:sqlite"));
    expect(younger, fileName).toEqual([]);
  }
});

test("no file uses syntax that Node 18 cannot parse", () => {
  for (const { fileName, code } of files) {
    expect(code.match(/^\s*(?:await )?using \w+ =.*$/gm), fileName).toBeNull();
  }
});
