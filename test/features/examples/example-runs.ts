// Runs the program of an example as a user does, and reads the expected output from its README.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectRoot } from "../../support/source-files.ts";

export interface ExampleRun {
  readonly printed: string;
  /** Warnings of Node and other unintended lines on stderr. */
  readonly complaints: string;
}

/** `node examples/<name>/main.ts`; rejects if it fails. */
export async function runExample(name: string, ...args: string[]): Promise<ExampleRun> {
  const main = join(projectRoot, "examples", name, "main.ts");
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...args], {
    encoding: "utf8",
    timeout: 50_000,
  });
  // Some examples contain failed attempts and instances. Perdure logs them, followed by their stacks.
  return {
    printed: trimmed(stdout),
    complaints: stderr.replaceAll(/^\[perdure\] (?:warn|error) .*\n(?:[ \t].*\n)*/gm, ""),
  };
}

/** The first `text` block of an example's README: the expected output of the program. */
export function promisedOutput(name: string): string {
  const page = readFileSync(join(projectRoot, "examples", name, "README.md"), "utf8");
  const block = /```text\n(?<text>.*?)```/s.exec(page)?.groups?.["text"];
  if (block === undefined) throw new Error(`examples/${name}/README.md shows no output`);
  return trimmed(block);
}

function trimmed(text: string): string {
  return text.replaceAll(/[ \t]+$/gm, "").trimEnd();
}
