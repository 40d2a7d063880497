// Errors: classifies the errors of PostgreSQL and of the network by what the caller can do about them.
//   - Every SQLSTATE has a class: transient (STORE_UNAVAILABLE), caused by one item, or a problem of the
//       store or of this code (STORE_INVALID). A code that is not listed is classified by its first two
//       characters.
//   - errors.1: A broken connection does not say what became of the call on it: the outcome is unknown
//       (I14).
//   - A refusal because of the store's state is a result, not an error. Nothing here creates one
//       (commit.2).

import { PerdureError, errorMessage } from "../../core/errors/errors.ts";
import { maskSecrets } from "../../core/values/secrets.ts";

/**
 * Raised by `refuse` in the schema: the single round trip does not apply, and the caller must go step by
 * step.
 */
const REFUSED = "PD001";
const DUPLICATE = "23505";
/** Raised by the triggers of a store that is being moved (admin/move-lock.ts). */
export const MOVED = "PD002";

/** Transient errors. Two characters stand for a whole class. */
const TRANSIENT: ReadonlySet<string> = new Set([
  "08", // connection exceptions
  "25006", // read-only: a standby, or maintenance
  "25P03", // idle too long in a transaction: this process was suspended
  "25P04", // a transaction that took too long: the same
  "26000", // a prepared statement is missing: the connection is replaced
  "42P05", // a prepared statement exists already: the session is shared (postgres.connection.2)
  "0A000", // a cached plan no longer fits its table: the connection is replaced
  "40", // serialization failures and deadlocks
  "53", // out of disk, memory or connections
  "55P03", // a lock timeout
  "57", // shut down, starting up, cancelled
  "58", // a system error outside PostgreSQL
]);
/** Errors caused by the content of one item. */
const CAUSED_BY_ITEM: ReadonlySet<string> = new Set(["22", "23", "54", MOVED]);
/** Errors caused by user statements in a transaction that Perdure commits. */
const CAUSED_BY_USER: ReadonlySet<string> = new Set(["22", "23", "42", "44", "54", "P0"]);
/**
 * Transient for Perdure's statements, but not for user statements, which caused them: timeouts, plans,
 * names.
 */
const CAUSED_BY_USER_SETTINGS = new Set(["0A000", "25006", "26000", "42P05", "55P03", "57014"]);
const LONG_TRANSACTION: ReadonlySet<string> = new Set(["25P03", "25P04"]);
const BUSY: ReadonlySet<string> = new Set(["55P03", "40001", "40P01"]);
/** After these errors the connection must be closed, although it still answers. */
const SPOILED: ReadonlySet<string> = new Set([
  "0A000",
  "25006", // a new connection may reach the new primary
  "26000",
  "42P05",
]);

export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E")
    ? code
    : undefined;
}

function isOf(classes: ReadonlySet<string>, error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (classes.has(state) || classes.has(state.slice(0, 2)));
}

/**
 * Whether a single round trip was refused and the caller must go step by step; with `why`: whether it was
 * refused for this reason.
 */
export function isRefused(error: unknown, why?: string): boolean {
  if (sqlState(error) !== REFUSED) return false;
  return why === undefined || (error instanceof Error && error.message === why);
}

/** Whether a row with the same unique key exists. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === DUPLICATE;
}

/** Whether another transaction holds a lock; the same call may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  return isOf(BUSY, error);
}

/** Whether the content of an item caused the error, not the store. */
export function concernsItem(error: unknown): boolean {
  return isOf(CAUSED_BY_ITEM, error);
}

/** Whether a transaction cannot be committed because of the user's statements in it. */
export function isUsersFault(error: unknown): boolean {
  return isOf(CAUSED_BY_USER, error);
}

/** Whether a user statement failed with a transient error and may succeed when it is retried. */
export function passesFor(error: unknown): boolean {
  return isOf(TRANSIENT, error) && !isOf(CAUSED_BY_USER_SETTINGS, error);
}

/** Whether the server has closed the connection because its transaction was idle or open for too long. */
export function endsLongTransactions(error: unknown): boolean {
  return isOf(LONG_TRANSACTION, error);
}

/** Whether the connection is lost, so that the outcome of the call is unknown (errors.1). */
export function isLost(error: unknown): boolean {
  if (error instanceof PerdureError) return false;
  if (error instanceof Error && "severity" in error) {
    return error.severity === "FATAL" || error.severity === "PANIC";
  }
  return sqlState(error) === undefined;
}

/**
 * Whether a prepared statement exists unexpectedly ("there") or is missing ("gone"): a pooler shares the
 * connection.
 */
export function isMisplaced(error: unknown): "there" | "gone" | null {
  const state = sqlState(error);
  if (state === "42P05") return "there";
  return state === "26000" ? "gone" : null;
}

/** Whether the connection must be closed. */
export function isSpoiled(error: unknown): boolean {
  return isLost(error) || isOf(SPOILED, error);
}

export function toPerdureError(error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  const cause = error;
  if (sqlState(error) === MOVED && error instanceof Error) {
    return new PerdureError("STORE_MOVED", error.message, { cause });
  }
  const reason = messageOf(error);
  if (isOf(TRANSIENT, error) || isRefused(error) || isNetworkError(error)) {
    const message = `PostgreSQL is temporarily unavailable: ${reason}.`;
    return new PerdureError("STORE_UNAVAILABLE", message, { cause });
  }
  return new PerdureError("STORE_INVALID", `PostgreSQL rejected the call: ${reason}.`, { cause });
}

/** While a store is opened: a failed login or a missing database is STORE_INVALID, so nothing retries it. */
export function toOpenError(
  error: unknown,
  what = "The PostgreSQL store cannot be opened",
): PerdureError {
  if (error instanceof PerdureError) return error;
  const isTransient =
    isOf(TRANSIENT, error) || (sqlState(error) === undefined && isNetworkError(error));
  const code = isTransient ? "STORE_UNAVAILABLE" : "STORE_INVALID";
  const message = `${what}: ${messageOf(error)}.`;
  return new PerdureError(code, message, { cause: error });
}

/** Whether a socket or the driver reports that a connection failed. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isNetworkError);
  if ("code" in error && typeof error.code === "string" && /^E[A-Z_]+$/.test(error.code)) {
    return true;
  }
  return (
    sqlState(error) === undefined && /connect|terminated|timeout|queryable/i.test(error.message)
  );
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map(messageOf).join("; ");
  }
  const message = maskSecrets(errorMessage(error));
  const state = sqlState(error);
  return state === undefined ? message : `${message} (${state})`;
}
