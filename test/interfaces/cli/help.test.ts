// The help and the page about the command line match the commands.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EXIT_CODES } from "../../../src/cli/exit-codes.ts";
import { projectRoot } from "../../support/source-files.ts";
import { runOnTerminal } from "./support.ts";

const COMMANDS = [
  ...[
    "init",
    "dev",
    "worker",
    "ui",
    "list",
    "get",
    "history",
    "watch",
    "kv",
    "streams",
    "stream",
    "kept",
    "queues",
  ],
  ...[
    "runtimes",
    "counts",
    "metrics",
    "start",
    "enqueue",
    "raise",
    "ask",
    "complete",
    "cancel",
    "terminate",
    "pause",
    "resume",
    "retry",
    "unblock",
  ],
  ...[
    "rewind",
    "restart",
    "fork",
    "delete",
    "prune",
    "trim",
    "migrate",
    "backup",
    "check",
    "doctor",
  ],
];
const page = readFileSync(join(projectRoot, "docs/cli.md"), "utf8");
const run = (line: string) => runOnTerminal(line, { cwd: projectRoot, env: { NO_COLOR: "1" } });

test("perdure --help lists every command, and --version the version", async () => {
  const { code, stdout } = await run("--help");
  expect(code).toBe(0);
  for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) (?=[[<])/gm)].map(([, name]) => name);
  expect(listed.filter((name) => name !== "help").toSorted()).toEqual(COMMANDS.toSorted());
  expect((await run("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each(COMMANDS)("perdure %s --help has examples, --json and fits a terminal", async (name) => {
  const { code, stdout } = await run(`${name} --help`);
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^Usage: perdure ${name} `));
  expect(stdout).toMatch(new RegExp(`\nExamples:\n {2}\\$ .*perdure ${name}`));
  expect(stdout).toContain("--json");
  const [help = ""] = stdout.split("\nExamples:");
  for (const line of help.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("docs/cli.md describes every command and every option of it", async () => {
  for (const name of COMMANDS) {
    expect(page).toMatch(new RegExp(`^### \`perdure ${name}\\b`, "m"));
    const { stdout } = await run(`${name} --help`);
    const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(
      ([, option]) => option,
    );
    const missing = options.filter(
      (option) => !page.includes(`\`${option}`) && option !== "--help",
    );
    expect({ name, missing }).toEqual({ name, missing: [] });
  }
});

test("docs/cli.md has the table of exit codes", () => {
  const section = page.slice(page.indexOf("## Exit codes"));
  const rows = [...section.matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)].map(([, code, text]) => [
    code,
    text,
  ]);
  expect(Object.fromEntries(rows)).toEqual(EXIT_CODES);
});
