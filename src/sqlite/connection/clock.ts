// Clock: the store's clock is the machine's clock, which an operator may set back.
//   - sqlite.clock.1: `meta.clock` is never below a time that was written as "now". A write raises it in
//       steps of CLOCK_STEP_MS, so that few writes have to.
//   - sqlite.clock.2: A clock that is behind `meta.clock` by more than TOLERANCE_MS was set back. Before
//       anything else happens, one transaction moves work that was already due, and heartbeats, to the new
//       "now". Leases keep the time that they had left. Without this, due work and the work of dead
//       processes would wait for as long as the clock was set back.
//   - Timers, deadlines and the pauses between retries are real delays: they keep their due time.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { checksumOfCopy } from "../../core/values/checksum.ts";
import { DELAYED_KINDS } from "../../core/provider/shared/row-checks.ts";
import { integer, type Row } from "../../sql/columns.ts";
import { MOVED } from "./errors.ts";
import { MESSAGE_COLUMNS } from "../../sql/rows/messages.ts";
import { coveredOf, toMessage } from "../read/messages.ts";

/** How far ahead of the clock a write raises `meta.clock`. */
export const CLOCK_STEP_MS = 100;
const TOLERANCE_MS = 1_000;
const BATCH = 1_000;
/** ?1 is the time; ?2 is the time plus one step. */
export const RAISE_CLOCK = "UPDATE meta SET value = ?2 WHERE name = 'clock' AND value < ?1";

/** By how much the clock was set back, compared with the newest time in the store; 0 if it was not. */
export function setBackMs(written: number, now: number): number {
  const behindMs = written - CLOCK_STEP_MS - now;
  return behindMs > TOLERANCE_MS ? behindMs : 0;
}

export class StoreClock {
  readonly #database: DatabaseSync;
  readonly #select: StatementSync;
  readonly #raise: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#select = database.prepare("SELECT value FROM meta WHERE name = 'clock'");
    this.#raise = database.prepare(RAISE_CLOCK);
  }

  /** Whether sqlite.clock.2 must run. Call it within a read transaction. */
  isSetBack(now: number): boolean {
    return setBackMs(this.#written(), now) > 0;
  }

  /**
   * Raises `meta.clock` (sqlite.clock.1). Returns false if sqlite.clock.2 must run first. Call it within a
   * write.
   */
  raise(now: number): boolean {
    const written = this.#written();
    if (written < now) this.#raise.run(now, now + CLOCK_STEP_MS);
    return setBackMs(written, now) === 0;
  }

  /** sqlite.clock.2, within a separate write transaction. Returns by how much the clock was set back. */
  rebase(now: number): number {
    const written = this.#written();
    const behindMs = setBackMs(written, now);
    if (behindMs === 0) return 0; // another process has corrected it
    this.#rebaseInbox(now, written);
    this.#run("UPDATE tasks SET available_at = ?1 WHERE available_at BETWEEN ?1 + 1 AND ?2", [
      now,
      written,
    ]);
    for (const table of ["instances", "tasks"]) {
      const sql = `UPDATE ${table} SET lease_until = lease_until - ?2 WHERE lease_until > ?1`;
      this.#run(sql, [now, behindMs]);
    }
    this.#run(
      `UPDATE sessions SET until = until - ?2, last_activity_at = min(last_activity_at, ?1)
       WHERE until > ?1`,
      [now, behindMs],
    );
    this.#run("UPDATE admissions SET until = until - ?1", [behindMs]); // all of them: their order stays
    this.#run("DELETE FROM queue_outcomes WHERE at > ?1", [now]);
    this.#run("UPDATE runtimes SET beat_at = ?1 WHERE beat_at > ?1", [now]);
    this.#run("UPDATE meta SET value = ?1 WHERE name = 'clock'", [now + CLOCK_STEP_MS]);
    this.#run("UPDATE meta SET value = value + 1 WHERE name = 'news'", []);
    return behindMs;
  }

  #rebaseInbox(now: number, written: number): void {
    const delayed = DELAYED_KINDS.map((kind) => `'${kind}'`).join();
    const select = this.#database.prepare(`
      SELECT ${MESSAGE_COLUMNS} FROM inbox AS m
      WHERE id > ? AND visible_at > ? AND visible_at <= ? AND kind NOT IN (${delayed})
      ORDER BY id LIMIT ${BATCH}`);
    const update = this.#database.prepare(`
      UPDATE inbox SET visible_at = ?, checksum = ? WHERE id = ?`);
    let last = Number.MIN_SAFE_INTEGER; // ids can be negative (sqlite.inbox.2)
    for (;;) {
      const rows = select.all(last, now, written);
      for (const row of rows) {
        last = integer(row, "id");
        update.run(now, checksumAt(row, now), last);
      }
      if (rows.length < BATCH) return;
    }
  }

  #run(sql: string, values: readonly number[]): void {
    this.#database.prepare(sql).run(...values);
  }

  #written(): number {
    return integer(this.#select.get() ?? { value: 0 }, "value");
  }
}

/** The checksum of the moved row. A damaged row stays damaged. */
function checksumAt(row: Row, visibleAt: number): number {
  const moved = { ...toMessage(row), visibleAt };
  return checksumOfCopy(moved, ...coveredOf(integer(row, "instance"), moved));
}

/**
 * Whether the error says that the store is being moved. No worker runs on it, so its rows need no
 * correction.
 */
export function isMoveLocked(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith(MOVED);
}
