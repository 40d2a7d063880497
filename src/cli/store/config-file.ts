// Finds, loads and checks the config file.
//   - The file is `perdure.config.ts` (or .mts, .js, .mjs) in the current directory, or the nearest one
//        above it.
//   - Loading the file runs its code. An error that it throws is printed with its stack and ends the
//        command.
//   - The config is checked before it is used. An unknown property is an error, because it is usually a
//        typo.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { PerdureConfig } from "../../perdure.ts";
import { missingFileHint } from "../../runtime/threads/missing-file.ts";
import { CliError } from "../exit-codes.ts";

export const CONFIG_NAMES = [
  "perdure.config.ts",
  "perdure.config.mts",
  "perdure.config.js",
  "perdure.config.mjs",
] as const;
const MEMBERS: readonly string[] = [
  "store",
  "register",
  "runtime",
  "callbacks",
  "services",
  "middleware",
];

export interface LoadedConfig {
  readonly path: string;
  readonly config: PerdureConfig;
}

/** Undefined: there is no config file. */
export function findConfig(directory: string): string | undefined {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const found = CONFIG_NAMES.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

export async function loadConfig(path: string): Promise<LoadedConfig> {
  if (!existsSync(path)) throw invalidConfig(path, "the file does not exist");
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    throw new CliError("CONFIG_INVALID", `${path} cannot be loaded: ${whyOf(cause)}`, { cause });
  }
  return { path, config: checkConfig(path, module.default) };
}

/** The error's stack without the frames of Node's loader. */
function whyOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const lines = (cause.stack ?? cause.message).split("\n");
  const hint = missingFileHint(cause);
  return [
    ...lines.filter((line) => !/^\s+at .*node:internal/.test(line)),
    ...(hint === undefined ? [] : [hint]),
  ].join("\n");
}

function checkConfig(path: string, value: unknown): PerdureConfig {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidConfig(
      path,
      "the default export must be a config: export default defineConfig({ … })",
    );
  }
  const { store, register, runtime, callbacks } = value as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw invalidConfig(
      path,
      `unknown property "${unknown}"; it must be one of ${MEMBERS.join(", ")}`,
    );
  }
  if (store !== undefined && typeof store !== "string" && typeof store !== "function") {
    throw invalidConfig(path, "store must be an address, or a function that opens a store");
  }
  if (register !== undefined && !Array.isArray(register)) {
    throw invalidConfig(path, "register must be a list of definitions and modules");
  }
  if (runtime !== undefined && (typeof runtime !== "object" || runtime === null)) {
    throw invalidConfig(path, "runtime must be an object of runtime options");
  }
  if (callbacks !== undefined && (typeof callbacks !== "object" || callbacks === null)) {
    throw invalidConfig(path, "callbacks must be an object with secrets and baseUrl");
  }
  return value; // the runtime and the client check the rest in detail
}

function invalidConfig(path: string, why: string): CliError {
  return new CliError("CONFIG_INVALID", `${path} is not valid: ${why}.`);
}
