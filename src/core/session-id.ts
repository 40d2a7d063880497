// Session ids: any text of 1 to 256 bytes; the same text is the same session in every instance.

import { PerdureError } from "./errors.ts";
import { checkStorable } from "./ids.ts";

const SESSION_BYTES_MAX = 256;

export function parseSession(session: unknown, what: string): string {
  if (typeof session !== "string" || session === "") {
    const message = `The session of ${what} is a text with at least one character.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  checkStorable(session, `session of ${what}`);
  const bytes = Buffer.byteLength(session);
  if (bytes <= SESSION_BYTES_MAX) return session;
  const message = `The session of ${what} has ${bytes} bytes; at most ${SESSION_BYTES_MAX} are allowed.`;
  throw new PerdureError("LIMIT_EXCEEDED", message);
}
