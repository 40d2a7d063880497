// Runs a program to its end, and kills it with all its children if it takes too long.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export interface Ended {
  /** Standard output and standard error, in the order of arrival. */
  readonly text: string;
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly isLate: boolean;
}

export interface BoundedOptions {
  readonly seconds: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function runBounded(
  program: string,
  args: readonly string[],
  { seconds, cwd = ROOT, env = {} }: BoundedOptions,
): Promise<Ended> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // a process group, so that its children can be killed with it
  });
  let text = "";
  const collect = (chunk: string): void => void (text += chunk);
  child.stdout.setEncoding("utf8").on("data", collect);
  child.stderr.setEncoding("utf8").on("data", collect);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, seconds * 1_000);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return { text, code, isLate };
}
