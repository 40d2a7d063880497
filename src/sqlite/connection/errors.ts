// Errors: classifies the errors of SQLite by what the caller can do about them.
//   - Transient errors (busy, full disk, I/O, memory) are STORE_UNAVAILABLE; all others are STORE_INVALID.
//   - A refusal because of the store's state is a result, not an error. Nothing here creates one (commit.2).

import { PerdureError, errorMessage } from "../../core/errors/errors.ts";

/** The primary result codes of SQLite that are distinguished here. */
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

const TRANSIENT = new Set([BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL]);

/** The texts of SQLite for these codes. On Deno, errors of `exec` have no `errcode`. */
const CODE_OF_TEXT: Readonly<Record<string, number>> = {
  "database is locked": BUSY,
  "database table is locked": LOCKED,
  "out of memory": NOMEM,
  "attempt to write a readonly database": READONLY,
  "disk I/O error": IOERR,
  "database disk image is malformed": CORRUPT,
  "database or disk is full": FULL,
  "unable to open database file": CANTOPEN,
  "locking protocol": PROTOCOL,
  "file is not a database": NOTADB,
};

/** The prefix of errors that the triggers of a store being moved raise (admin/transfer.ts). */
export const MOVED = "perdure store moved: ";

/** The primary result code of an error that SQLite raised; undefined for any other error. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") return error.errcode & 0xff;
  const isOfSqlite = "code" in error && error.code === "ERR_SQLITE_ERROR";
  return isOfSqlite ? CODE_OF_TEXT[error.message] : undefined;
}

/** Whether another connection is writing; the same call may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

function isTransient(error: unknown): boolean {
  return TRANSIENT.has(resultCode(error) ?? NaN);
}

/** Whether the store caused the error, not the content of an item. */
export function concernsStore(error: unknown): boolean {
  const code = resultCode(error);
  return isTransient(error) || code === CORRUPT || code === NOTADB;
}

export function toPerdureError(error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  const cause = error;
  const reason = errorMessage(error);
  if (reason.startsWith(MOVED)) {
    return new PerdureError("STORE_MOVED", reason.slice(MOVED.length), { cause });
  }
  if (isTransient(error)) {
    const message = `SQLite is temporarily unavailable: ${reason}.`;
    return new PerdureError("STORE_UNAVAILABLE", message, { cause });
  }
  return new PerdureError("STORE_INVALID", `SQLite rejected the call: ${reason}.`, { cause });
}

/**
 * While a store is opened: a file that cannot be opened or written is STORE_INVALID, so nothing retries it.
 */
export function toOpenError(path: string, error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  const code = resultCode(error);
  const isFinal = !isTransient(error) || code === READONLY || code === CANTOPEN;
  const message = `${path} cannot be opened as a store: ${errorMessage(error)}.`;
  return new PerdureError(isFinal ? "STORE_INVALID" : "STORE_UNAVAILABLE", message, {
    cause: error,
  });
}
