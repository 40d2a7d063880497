// Errors: what PostgreSQL and the network say, told apart by who can do something about it.
//   E1. Every SQLSTATE has a class: it passes by itself (STORE_UNAVAILABLE), it is about one item, or it is about
//       the store or this code (STORE_INVALID). Codes that are not named go by their first two characters.
//   E2. A connection that broke says nothing about what was asked on it: its outcome is unknown (I14).
//   E3. A refusal by the store's state is no error; nothing here makes one (C2).

import { PerdureError } from "../core/errors.ts";
import { maskSecrets } from "../core/secrets.ts";

/** Raised by `refuse` in the schema: what was asked for cannot be done in this way. */
const REFUSED = "PD001";
/** Raised by the triggers of a frozen store (freeze.ts). */
export const MOVED = "PD002";

/** What passes. Two characters stand for a whole class. */
const PASSING: ReadonlySet<string> = new Set([
  "08", // connection exceptions
  "25006", // read-only: a standby, or maintenance
  "25P03", // idle too long in a transaction: this process stood still
  "26000", // a prepared statement is gone: the connection is replaced
  "42P05", // a prepared statement is there already: so it is, and the session is shared (connection.ts)
  "0A000", // a cached plan no longer fits its table: so is this one
  "40", // serialization failures and deadlocks
  "53", // out of disk, memory or connections
  "55P03", // a lock was not to be had in time
  "57", // shut down, starting up, cancelled
  "58", // an error of the system around it
]);
/** What one item brings about, by what it holds. */
const OF_ITEM: ReadonlySet<string> = new Set(["22", "23", "54", MOVED]);
/** What a user's own statements bring about that are committed with ours. */
const OF_USER: ReadonlySet<string> = new Set(["22", "23", "42", "44", "54", "P0"]);
/** What passes for us, and not for a user who asked for it: his time-outs, his plans, his statements' names. */
const ASKED_FOR: ReadonlySet<string> = new Set([
  "0A000",
  "25006",
  "26000",
  "42P05",
  "55P03",
  "57014",
]);
const BUSY: ReadonlySet<string> = new Set(["55P03", "40001", "40P01"]);
/** After these the connection is of no more use, though it answers. */
const SPOILED: ReadonlySet<string> = new Set(["26000", "42P05", "0A000"]);
/** A statement that was prepared is missing, or one that was not is there: other sessions use the connection. */
const MISPLACED: ReadonlySet<string> = new Set(["26000", "42P05"]);

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

/** What was refused in one round trip is to be done step by step. */
export function isRefused(error: unknown): boolean {
  return sqlState(error) === REFUSED;
}

/** Somebody holds a lock: the same call may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  return isOf(BUSY, error);
}

/** Whether the error is about what an item holds and not about the store. */
export function concernsItem(error: unknown): boolean {
  return isOf(OF_ITEM, error);
}

/** Whether a transaction cannot be committed because of what the user did in it. */
export function isUsersFault(error: unknown): boolean {
  return isOf(OF_USER, error);
}

/** Whether a user's statement failed through nobody's fault, and may succeed when it is run again. */
export function passesFor(error: unknown): boolean {
  return isOf(PASSING, error) && !isOf(ASKED_FOR, error);
}

/** Whether the connection is gone, and with it what became of the call (E2). */
export function isLost(error: unknown): boolean {
  if (error instanceof PerdureError) return false;
  if (error instanceof Error && "severity" in error) {
    return error.severity === "FATAL" || error.severity === "PANIC";
  }
  return sqlState(error) === undefined;
}

/** Whether prepared statements are not where they should be: there, or gone. */
export function isMisplaced(error: unknown): "there" | "gone" | null {
  if (!isOf(MISPLACED, error)) return null;
  return sqlState(error) === "42P05" ? "there" : "gone";
}

/** Whether no further call may be made on the connection. */
export function isSpoiled(error: unknown): boolean {
  return isLost(error) || isOf(SPOILED, error);
}

export function toPerdureError(error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  if (sqlState(error) === MOVED && error instanceof Error) {
    return new PerdureError("STORE_MOVED", error.message, { cause: error });
  }
  const said = saidBy(error);
  if (isOf(PASSING, error) || isRefused(error) || isOfNetwork(error)) {
    return new PerdureError("STORE_UNAVAILABLE", `PostgreSQL cannot do it now: ${said}.`, {
      cause: error,
    });
  }
  return new PerdureError("STORE_INVALID", `PostgreSQL refused: ${said}.`, { cause: error });
}

/** While a store is opened: who may not come in, or names what is not there, is told so at once. */
export function toOpenError(error: unknown): PerdureError {
  if (error instanceof PerdureError) return error;
  const passes = isOf(PASSING, error) || (sqlState(error) === undefined && isOfNetwork(error));
  const message = `The PostgreSQL store cannot be opened: ${saidBy(error)}.`;
  return new PerdureError(passes ? "STORE_UNAVAILABLE" : "STORE_INVALID", message, {
    cause: error,
  });
}

/** What sockets and the driver say when a connection cannot be made or kept. */
function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isOfNetwork);
  if ("code" in error && typeof error.code === "string" && /^E[A-Z_]+$/.test(error.code)) {
    return true;
  }
  return (
    sqlState(error) === undefined && /connect|terminated|timeout|queryable/i.test(error.message)
  );
}

function saidBy(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map(saidBy).join("; ");
  }
  const said = maskSecrets(error instanceof Error ? error.message : String(error));
  const state = sqlState(error);
  return state === undefined ? said : `${said} (${state})`;
}
