// Settings: what durability and speed rest on, set for each transaction and for nothing else.
//   S1. A weaker durability is only had by its name; a server that cannot give what was asked is STORE_INVALID (P1).
//   S2. Nothing is set on a session: it may be a user's, or shared with others by a pooler.
//   S3. Plans are made once and by the index, however small the tables were when the first statement ran: a plan
//       that reads a whole table would stay when the table has grown (probing.ts).

import { PerdureError } from "../core/errors.ts";
import { only, text, type Row } from "./columns.ts";

/**
 * "full": a call that returned is on the server's disk, and on a synchronous standby's if there is one.
 * "local": on the server's disk alone. "off": a crash of the server may undo the last commits.
 */
export type Durability = "full" | "local" | "off";

/** Values of synchronous_commit that "full" is content with; the first is set where the server has none of them. */
const FULL: readonly string[] = ["on", "remote_apply"];

const VERSION_MIN = 140_000;

export const SHOW_SETTINGS = `
  SELECT current_setting('server_version_num') AS version, current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery()::text AS standby,
    current_setting('transaction_read_only') AS read_only, current_user::text AS role`;

/** Refuses a server that takes no writes from this role, unless only reads are wanted. True: it is a standby. */
export function checkWritable(rows: readonly Row[], readOnly: boolean): boolean {
  const row = only(rows);
  const isStandby = text(row, "standby") === "true";
  if (readOnly || (!isStandby && text(row, "read_only") !== "on")) return isStandby;
  const look = "or open it with readOnly: true, to look at it";
  if (isStandby) {
    const way =
      "Give the address of the primary (or several hosts and target_session_attrs=read-write)";
    throw new PerdureError(
      "STORE_READ_ONLY",
      `The PostgreSQL server is a standby, which takes no writes. ${way}, ${look}.`,
    );
  }
  const role = text(row, "role").replaceAll('"', '""');
  const way = `Run: ALTER ROLE "${role}" SET default_transaction_read_only = off (it may also be set for the database or the server)`;
  throw new PerdureError(
    "STORE_READ_ONLY",
    `default_transaction_read_only is on for role "${role}", so nothing can be written. ${way}; ${look}.`,
  );
}

/** The value of synchronous_commit for every write. Throws where the server cannot give it. */
export function chooseCommit(rows: readonly Row[], durability: Durability): string {
  const row = only(rows);
  if (Number(text(row, "version")) < VERSION_MIN) {
    throw unfit(`it is version ${text(row, "version")}; Perdure needs PostgreSQL 14 or later`);
  }
  if (text(row, "encoding") !== "UTF8") {
    throw unfit(`its database is encoded as ${text(row, "encoding")}; Perdure needs UTF8`);
  }
  if (durability === "off") return "off";
  if (text(row, "fsync") !== "on") {
    throw unfit(
      'fsync is off: nothing it says is on disk. Ask for durability: "off" if you mean it',
    );
  }
  if (durability === "local") return "local";
  const found = text(row, "synchronous_commit");
  return FULL.includes(found) ? found : "on";
}

/** In words, for status (P1). */
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

/** $1 the time, if it is not the server's. */
export const SURVEY_SETTINGS = "SELECT set_config('perdure.now', $1, true)";
export const LOOK_SETTINGS = `${SURVEY_SETTINGS}, ${PLANNING.join(", ")}`;

/** $1 as above, $2 how long to wait for a lock, $3 synchronous_commit. */
export const WRITE_SETTINGS = `
  ${LOOK_SETTINGS}, set_config('lock_timeout', $2, true), set_config('synchronous_commit', $3, true)`;

/** Of a transaction that a user's statements have been run in, before it ends. Parameters as above. */
export const END_SETTINGS = `
  ${SURVEY_SETTINGS}, set_config('lock_timeout', $2, true), set_config('synchronous_commit', $3, true)`;

function unfit(why: string): PerdureError {
  return new PerdureError("STORE_INVALID", `The PostgreSQL server cannot hold a store: ${why}.`);
}
