// The run times under test, and how a program starts on each.

import { join } from "node:path";
import { runBounded } from "./bounded-process.ts";

export const FOLDER = import.meta.dirname;
const BIN = join(FOLDER, "node_modules/.bin");

export type RunTimeName = "node24" | "node26" | "bun" | "deno";

export interface RunTime {
  readonly name: RunTimeName;
  readonly program: string;
  readonly args: readonly string[];
}

export const RUN_TIMES: readonly RunTime[] = [
  { name: "node24", program: process.execPath, args: [] },
  { name: "node26", program: join(BIN, "node"), args: [] },
  { name: "bun", program: join(BIN, "bun"), args: [] },
  { name: "deno", program: join(BIN, "deno"), args: ["run", "-A"] },
];

export async function versionOf({ program }: RunTime): Promise<string> {
  const { text } = await runBounded(program, ["--version"], { seconds: 60 });
  return text.split("\n")[0] ?? "";
}
