// An unsupported Node can load every entry point of the package far enough to print which version is needed.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OutputChunk } from "rolldown";
import { bundle } from "../../../scripts/package/bundle.ts";

/**
 * Imports that Node 18 can link: of a whole module, or of names that Node 18 has. `npm run test:package` loads the
 * package on Node 18, 20 and 22.
 */
const NODE_18 =
  /^import (?:\* as |\{ )(?!.*\b(?:crc32|hash|enableCompileCache|registerHooks|styleText)\b)/;
/** Started by the engine, after the check has passed. */
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
    expect(code, fileName).toMatch(
      code.startsWith("#!")
        ? /^#!.*\nawait import\("(?:\.\.?\/)+core\/node-version\.js"\)\.catch/
        : /^import "(?:\.\.?\/)+core\/node-version\.js";/,
    );
  }
});

test("a command loads no file of the package before the check", () => {
  const commands = files.filter(({ code }) => code.startsWith("#!"));
  expect(commands.map(({ fileName, imports }) => [fileName, imports])).toEqual([
    ["cli/main.js", expect.not.arrayContaining([expect.stringMatching(/\.js$/)])],
  ]);
});

test("a command on an older Node prints only the required version", async () => {
  const pretend = `Object.defineProperty(process.versions, "node", { value: "20.20.2" })`;
  const args = ["--import", `data:text/javascript,${pretend}`, join(folder, "cli/main.js")];
  const run = promisify(execFile)(process.execPath, [...args, "list"]);
  await expect(run).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: "Perdure needs Node 24 or later; this is Node 20.20.2.\n",
  });
});

test("no file imports what Node 18 cannot link", () => {
  for (const { fileName, code } of files) {
    const builtins = code.match(/^import .* from "node:.*";$/gm) ?? [];
    const newer = builtins.filter((line) => !NODE_18.test(line) || line.includes("node:sqlite"));
    expect(newer, fileName).toEqual([]);
  }
});

test("no file uses syntax that Node 18 cannot parse", () => {
  for (const { fileName, code } of files) {
    expect(code.match(/^\s*(?:await )?using \w+ =.*$/gm), fileName).toBeNull();
  }
});
