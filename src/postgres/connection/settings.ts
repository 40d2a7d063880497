// Settings: the server settings that durability and query plans depend on, set per transaction.
//   - A weaker durability must be requested by name. A server that cannot provide the requested durability
//       raises STORE_INVALID (P1).
//   - Perdure sets nothing on a session, because a session may belong to the user or be shared by a pooler.
//   - settings.1: Statements are planned once and must use indexes, however small the tables were when the
//       first statement ran. A plan with a sequential scan would be kept after the table has grown
//       (index-lookup.ts).
//   - settings.2: Timeouts that the role or the database sets must not cancel Perdure's statements, because a
//       statement that needs longer would be retried forever. They are turned off per transaction, and only
//       if there are any. `answerMs` and the lock timeout limit Perdure's transactions.

import { PerdureError } from "../../core/errors/errors.ts";
import { only, text, type Row } from "../../sql/columns.ts";
import { Statement } from "./pipeline.ts";

/**
 * "full": when a write returns, it is on the server's disk, and on a synchronous standby's disk if there is
 * one. "local": it is on the server's disk only. "off": a crash of the server may undo the last commits.
 */
export type Durability = "full" | "local" | "off";

/**
 * Values of synchronous_commit that satisfy "full". If the server has another value, the first one is set.
 */
const FULL: readonly string[] = ["on", "remote_apply"];

const VERSION_MIN = 140_000;

export const SHOW_SETTINGS = `
  SELECT current_setting('server_version_num') AS version, current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery()::text AS standby,
    current_setting('transaction_read_only') AS read_only, current_user::text AS role,
    current_setting('session_replication_role') AS replication_role,
    pg_backend_pid()::text AS pid, array_to_string(ARRAY(
      SELECT name FROM unnest(ARRAY['statement_timeout', 'transaction_timeout']) AS name
      WHERE coalesce(current_setting(name, true), '0') <> '0'), ',') AS timeouts`;

/** The timeouts that must be turned off (settings.2). PostgreSQL 17 added the second one. */
export type Timeout = "statement_timeout" | "transaction_timeout";

export function timeoutsOf(rows: readonly Row[]): readonly Timeout[] {
  const found = text(only(rows), "timeouts").split(",");
  return (["statement_timeout", "transaction_timeout"] as const).filter((name) =>
    found.includes(name),
  );
}

/**
 * Throws if this role cannot write to the server, unless `readOnly` is set. Returns whether it is a
 * standby.
 */
export function checkWritable(rows: readonly Row[], readOnly: boolean): boolean {
  const row = only(rows);
  const isStandby = text(row, "standby") === "true";
  if (readOnly || (!isStandby && text(row, "read_only") !== "on")) return isStandby;
  const look = "or open the store with readOnly: true to inspect it";
  if (isStandby) {
    const way =
      "Give the address of the primary (or several hosts and target_session_attrs=read-write)";
    const message = `The PostgreSQL server is a standby, which does not accept writes. ${way}, ${look}.`;
    throw new PerdureError("STORE_READ_ONLY", message);
  }
  const role = text(row, "role").replaceAll('"', '""');
  const way = `Run: ALTER ROLE "${role}" SET default_transaction_read_only = off (the setting may also come from the database or the server)`;
  const message = `default_transaction_read_only is on for role "${role}", so Perdure cannot write. ${way}; ${look}.`;
  throw new PerdureError("STORE_READ_ONLY", message);
}

/** The value of synchronous_commit for every write. Throws if the server cannot provide the durability. */
export function chooseCommit(rows: readonly Row[], durability: Durability): string {
  const row = only(rows);
  if (Number(text(row, "version")) < VERSION_MIN) {
    throw unfit(`it is version ${text(row, "version")}; Perdure needs PostgreSQL 14 or later`);
  }
  if (text(row, "encoding") !== "UTF8") {
    throw unfit(`its database is encoded as ${text(row, "encoding")}; Perdure needs UTF8`);
  }
  if (text(row, "replication_role") === "replica") {
    throw unfit(
      "session_replication_role is replica, so the triggers of the tables would not run. Set it to origin",
    );
  }
  if (durability === "off") return "off";
  if (text(row, "fsync") !== "on") {
    throw unfit(
      'fsync is off, so a crash may lose committed data. Turn fsync on, or open the store with durability: "off"',
    );
  }
  if (durability === "local") return "local";
  const found = text(row, "synchronous_commit");
  return FULL.includes(found) ? found : "on";
}

/** The durability in words, for `status` (P1). */
export function describeDurability(durability: Durability, commit: string): string {
  switch (durability) {
    case "full":
      return `full: synchronous_commit=${commit}`;
    case "local":
      return "local: synchronous_commit=local, a standby may lack the last commits";
    case "off":
      return "off: synchronous_commit=off, a crash of the server may undo the last commits";
  }
}

const PLANNING = [
  "set_config('enable_seqscan', 'off', true)",
  "set_config('enable_hashjoin', 'off', true)",
  "set_config('enable_mergejoin', 'off', true)",
  "set_config('jit', 'off', true)",
  "set_config('plan_cache_mode', 'force_generic_plan', true)",
];

/**
 * The statements that set up a transaction. $1 is the time of a custom clock, and empty means the server's
 * clock; $2 is the lock timeout; $3 is synchronous_commit.
 */
export function settingStatements(timeouts: readonly Timeout[]) {
  const withoutTimeouts = timeouts.map((name) => `, set_config('${name}', '0', true)`).join("");
  const survey = `SELECT set_config('perdure.now', $1, true)${withoutTimeouts}`;
  const look = `${survey}, ${PLANNING.join(", ")}`;
  const forWriting =
    "set_config('lock_timeout', $2, true), set_config('synchronous_commit', $3, true)";
  const write = `${look}, ${forWriting}`;
  return {
    /** Before statements that read much. */
    survey: new Statement(survey),
    /** Before statements that read, with index plans (settings.1). */
    look: new Statement(look),
    write: new Statement(write),
    /**
     * The same, and then the shared advisory locks named by $4, in their order. The lock timeout already holds
     * for them.
     */
    writeLocked: new Statement(`${write}, (
      SELECT count(pg_advisory_xact_lock_shared(hashtextextended(name, 0)))
      FROM unnest($4::text[]) AS name)`),
    /** At the end of a transaction in which user code has run statements. */
    end: new Statement(`${survey}, ${forWriting}`),
  };
}

function unfit(why: string): PerdureError {
  return new PerdureError("STORE_INVALID", `The PostgreSQL server cannot hold a store: ${why}.`);
}
