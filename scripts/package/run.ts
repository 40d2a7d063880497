// Runs a command to its end, and reports its output if it fails.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const OUTPUT_MAX = 64 * 1024 * 1024;

export async function run(folder: string, command: string, ...args: string[]): Promise<string> {
  try {
    const options = { cwd: folder, encoding: "utf8", maxBuffer: OUTPUT_MAX } as const;
    const { stdout } = await promisify(execFile)(command, args, options);
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
