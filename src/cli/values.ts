// Values on the command line: JSON as it stands, from a file, or from standard input; and back, for people.

import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { givenValue } from "../server/values.ts";
import type { Cli } from "./cli.ts";
import { CliError } from "./exit-codes.ts";

/** What an option says in its help about the forms it takes. */
export const VALUE_FORMS = "JSON, @file, or - for standard input";

/** Undefined where the option was not given. */
export async function parseValue(
  cli: Cli,
  option: string,
  given: string | undefined,
): Promise<unknown> {
  if (given === undefined) return undefined;
  const [source, written] = await read(cli, option, given);
  let parsed: unknown;
  try {
    parsed = JSON.parse(written);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = /^[\p{L}_]/u.test(written) ? ` A text has quotes of its own: '"${written}"'.` : "";
    throw new CliError("USAGE", `${source} is not JSON: ${why}.${hint}`, { cause });
  }
  return givenValue(parsed);
}

async function read(cli: Cli, option: string, given: string): Promise<[string, string]> {
  if (given === "-") return [`Standard input, for ${option},`, await readAll(cli.stdin)];
  if (!given.startsWith("@")) return [option, given];
  const file = given.slice(1);
  try {
    return [`${file}, for ${option},`, readFileSync(file, "utf8")];
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("USAGE", `${option} cannot be read from a file: ${why}.`, { cause });
  }
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString("utf8");
}

/** In one line. */
export function showValue(value: unknown, length = 200): string {
  const shown = inspect(value, {
    depth: 6,
    breakLength: Infinity,
    compact: true,
    maxStringLength: length,
    maxArrayLength: 50,
  });
  return shown.length > length ? `${shown.slice(0, length - 1)}…` : shown;
}
