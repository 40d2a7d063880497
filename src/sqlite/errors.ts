// Errors: what SQLite says, told apart by who can do something about it.
//   E1. What passes by itself (busy, full disk, I/O, memory) is STORE_UNAVAILABLE; the rest is STORE_INVALID.
//   E2. A refusal by the store's state is no error; nothing here makes one (C2).

import { PerdureError } from "../core/errors.ts";

/** SQLite's primary result codes, as far as they are told apart here. */
const BUSY = 5;
const LOCKED = 6;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

const PASSING: ReadonlySet<number> = new Set([
  BUSY,
  LOCKED,
  NOMEM,
  READONLY,
  IOERR,
  FULL,
  CANTOPEN,
  PROTOCOL,
]);

/** What the triggers of a frozen store say first (freeze.ts). */
export const MOVED = "perdure store moved: ";

/** The primary result code of an error that SQLite raised; undefined for any other. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** Somebody else is writing: the same call may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** Whether the error is about the store and not about what was asked of it. */
export function concernsStore(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && (PASSING.has(code) || code === CORRUPT || code === NOTADB);
}

export function toPerdureError(error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  const code = resultCode(error);
  const said = error instanceof Error ? error.message : String(error);
  if (said.startsWith(MOVED)) {
    return new PerdureError("STORE_MOVED", said.slice(MOVED.length), { cause: error });
  }
  if (code !== undefined && PASSING.has(code)) {
    return new PerdureError("STORE_UNAVAILABLE", `SQLite cannot do it now: ${said}.`, {
      cause: error,
    });
  }
  return new PerdureError("STORE_INVALID", `SQLite refused: ${said}.`, { cause: error });
}

/** While a store is opened, a file that may not be written or opened is no store, and stays so. */
export function toOpenError(path: string, error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  const code = resultCode(error);
  const passes = code !== undefined && PASSING.has(code) && code !== READONLY && code !== CANTOPEN;
  const said = error instanceof Error ? error.message : String(error);
  const message = `${path} cannot be opened as a store: ${said}.`;
  return new PerdureError(passes ? "STORE_UNAVAILABLE" : "STORE_INVALID", message, {
    cause: error,
  });
}
