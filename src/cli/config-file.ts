// The config file: found, loaded and checked.
//   CF1. `perdure.config.ts` (or .mts, .js, .mjs) in the current directory, else the nearest one above it.
//   CF2. It is code and runs; whatever it throws is told with its own stack, and ends the command.
//   CF3. What it holds is checked before it is used: an unknown member is a typo, not a wish.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { PerdureConfig } from "../config.ts";
import { CliError } from "./exit-codes.ts";

export const CONFIG_NAMES = [
  "perdure.config.ts",
  "perdure.config.mts",
  "perdure.config.js",
  "perdure.config.mjs",
] as const;
const MEMBERS: readonly string[] = ["store", "register", "runtime"];

export interface LoadedConfig {
  readonly path: string;
  readonly config: PerdureConfig;
}

/** Undefined: there is none. */
export function findConfig(directory: string): string | undefined {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const found = CONFIG_NAMES.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

export async function loadConfig(path: string): Promise<LoadedConfig> {
  if (!existsSync(path)) throw invalid(path, "there is no such file");
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    throw new CliError("CONFIG_INVALID", `${path} cannot be loaded: ${whyOf(cause)}`, { cause });
  }
  return { path, config: checkConfig(path, module.default) };
}

/** With the places that are the user's; Node's own loader is none of them. */
function whyOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const lines = (cause.stack ?? cause.message).split("\n");
  return lines.filter((line) => !/^\s+at .*node:internal/.test(line)).join("\n");
}

function checkConfig(path: string, value: unknown): PerdureConfig {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path, "its default export is no config: export default defineConfig({ … })");
  }
  const { store, register, runtime } = value as Readonly<Record<string, unknown>>;
  const stranger = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (stranger !== undefined) {
    throw invalid(path, `"${stranger}" is none of ${MEMBERS.join(", ")}`);
  }
  if (store !== undefined && typeof store !== "string" && typeof store !== "function") {
    throw invalid(path, "store is an address, or a function that opens a store");
  }
  if (register !== undefined && !Array.isArray(register)) {
    throw invalid(path, "register must be a list of definitions and modules");
  }
  if (runtime !== undefined && (typeof runtime !== "object" || runtime === null)) {
    throw invalid(path, "runtime is an object of runtime options");
  }
  return value; // its members' own rules are the runtime's to judge
}

function invalid(path: string, why: string): CliError {
  return new CliError("CONFIG_INVALID", `${path} is not valid: ${why}.`);
}
