// Tokens from a file: `{ "tokens": [{ "name", "role", "sha256" }] }`, read again whenever it changes.
//   TF1. A file that is missing, unreadable or not of this shape lets nobody in (TK4), and says why in the log.

import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { PerdureError } from "../core/errors.ts";
import { ROLES } from "./roles.ts";
import type { TokenSource } from "./tokens.ts";

const shape = v.strictObject({
  tokens: v.array(
    v.strictObject({
      name: v.string(),
      role: v.picklist(ROLES),
      sha256: v.pipe(v.string(), v.regex(/^[0-9a-fA-F]{64}$/)),
    }),
  ),
});

/** Give it as `tokens`: adding and removing lines takes effect within a second. */
export function tokensFromFile(path: string): TokenSource {
  return async () => {
    const text = await readFile(path, "utf8");
    const found = v.safeParse(shape, parse(text));
    if (found.success) return found.output.tokens;
    // Which entry, and not what it holds: somebody may have put the secret itself there.
    const place = v.getDotPath(found.issues[0]) ?? "the file";
    throw new PerdureError("INVALID_ARGUMENT", `The token file is wrong at ${place}.`);
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new PerdureError("INVALID_ARGUMENT", "The token file is not JSON.");
  }
}
