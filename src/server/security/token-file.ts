// Reads tokens from a file: `{ "tokens": [{ "name", "role", "sha256" }] }`. Changes take effect without a
// restart.
//   - If the file is missing, unreadable or has another format, all requests are refused (tokens.1). The
//        log contains the reason.

import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { PerdureError } from "../../core/errors/errors.ts";
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

/** A source for the option `tokens`. Added and removed entries take effect within a second. */
export function tokensFromFile(path: string): TokenSource {
  return async () => {
    const text = await readFile(path, "utf8");
    const found = v.safeParse(shape, parse(text));
    if (found.success) return found.output.tokens;
    // Names the entry but not its content, because a user may have written the secret itself there.
    const position = v.getDotPath(found.issues[0]) ?? "its root";
    throw new PerdureError("INVALID_ARGUMENT", `The token file is not valid at ${position}.`);
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new PerdureError("INVALID_ARGUMENT", "The token file must be JSON.");
  }
}
