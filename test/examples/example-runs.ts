// Runs the program of an example as a user does, and knows what its README promises.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectRoot } from "../support/source-files.ts";

export interface ExampleRun {
  readonly printed: string;
  /** Warnings of Node and lines that an example did not mean to print. */
  readonly complaints: string;
}

/** `node examples/<name>/main.ts`; rejects if it fails. */
export async function runExample(name: string, ...args: string[]): Promise<ExampleRun> {
  const main = join(projectRoot, "examples", name, "main.ts");
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...args], {
    encoding: "utf8",
    timeout: 50_000,
  });
  // Failed attempts and instances are part of some examples; Perdure logs them, with their stacks below.
  return {
    printed: trimmed(stdout),
    complaints: stderr.replaceAll(/^\[perdure\] (?:warn|error) .*\n(?:[ \t].*\n)*/gm, ""),
  };
}

/** The first block marked `text` of an example's README: what its program prints. */
export function promisedOutput(name: string): string {
  const page = readFileSync(join(projectRoot, "examples", name, "README.md"), "utf8");
  const block = /```text\n(?<text>.*?)```/s.exec(page)?.groups?.["text"];
  if (block === undefined) throw new Error(`examples/${name}/README.md shows no output`);
  return trimmed(block);
}

function trimmed(text: string): string {
  return text.replaceAll(/[ \t]+$/gm, "").trimEnd();
}
