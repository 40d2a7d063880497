// Reads values for the command line (JSON text, a file, or standard input) and formats values for people.

import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import type { ContextInput } from "../../core/context/app-types.ts";
import { givenValue } from "../../server/views/values.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../exit-codes.ts";
import { errorMessage } from "../../core/errors/errors.ts";

/** The help text about the forms that a value option accepts. */
export const VALUE_FORMS = "JSON, @file, or - for standard input";

/** Undefined: the option was not given. */
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
    const why = errorMessage(cause);
    const hint = /^[\p{L}_]/u.test(written) ? ` Quote a string twice: '"${written}"'.` : "";
    throw new CliError("USAGE", `${source} must be JSON: ${why}.${hint}`, { cause });
  }
  return givenValue(parsed);
}

/** The option --context. Undefined: it was not given. The client checks that it is an object. */
export async function parseContext(
  cli: Cli,
  given: string | undefined,
): Promise<ContextInput | undefined> {
  return (await parseValue(cli, "--context", given)) as ContextInput | undefined;
}

async function read(cli: Cli, option: string, given: string): Promise<[string, string]> {
  if (given === "-") return [`Standard input (${option})`, await readAll(cli.stdin)];
  if (!given.startsWith("@")) return [option, given];
  const file = given.slice(1);
  try {
    return [`${file} (${option})`, readFileSync(file, "utf8")];
  } catch (cause) {
    const why = errorMessage(cause);
    throw new CliError("USAGE", `${option}: the file cannot be read: ${why}.`, { cause });
  }
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString("utf8");
}

/** Formats a value on one line. */
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
