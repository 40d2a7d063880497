// Clock: the store's clock is the machine's clock, and an operator may set that back.
//   CL1. `meta.clock` is never below a time that was written as "now". A write raises it in steps of STEP_MS, so
//        that few writes have to.
//   CL2. A clock that is behind `meta.clock` by more than TOLERANCE_MS was set back. Before anything else happens,
//        one transaction moves work that was already due, and heartbeats, to the new "now". Leases keep the time
//        that they had left. Otherwise that work, and the work of dead processes, would wait for as long as the
//        clock was set back.
//   CL3. Timers, deadlines and the pauses between retries are real delays: they keep their due time.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { checksumFor } from "../core/checksum.ts";
import { DELAYED_KINDS } from "../core/provider/row-checks.ts";
import { integer, type Row } from "./columns.ts";
import { MOVED } from "./errors.ts";
import { COLUMNS, coveredOf, toMessage } from "./messages.ts";

/** How far ahead of the clock a write raises `meta.clock`. */
export const CLOCK_STEP_MS = 100;
const TOLERANCE_MS = 1_000;
const BATCH = 1_000;
/** ?1 the time, ?2 the time and a step. */
export const RAISE_CLOCK = "UPDATE meta SET value = ?2 WHERE name = 'clock' AND value < ?1";

/** By how much the clock is behind the newest time in the store; 0: it was not set back. */
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

  /** Within a transaction that only reads: whether CL2 has to happen. */
  isSetBack(now: number): boolean {
    return setBackMs(this.#written(), now) > 0;
  }

  /** Within a write transaction: raises `meta.clock` (CL1), or returns false because CL2 has to happen first. */
  keep(now: number): boolean {
    const written = this.#written();
    if (written < now) this.#raise.run(now, now + CLOCK_STEP_MS);
    return setBackMs(written, now) === 0;
  }

  /** Within a write transaction of its own (CL2). Returns by how much the clock was set back. */
  rebase(now: number): number {
    const written = this.#written();
    const behindMs = setBackMs(written, now);
    if (behindMs === 0) return 0; // another process was faster
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
    this.#run("UPDATE runtimes SET beat_at = ?1 WHERE beat_at > ?1", [now]);
    this.#run("UPDATE meta SET value = ?1 WHERE name = 'clock'", [now + CLOCK_STEP_MS]);
    this.#run("UPDATE meta SET value = value + 1 WHERE name = 'news'", []);
    return behindMs;
  }

  #rebaseInbox(now: number, written: number): void {
    const delayed = DELAYED_KINDS.map((kind) => `'${kind}'`).join();
    const select = this.#database.prepare(`
      SELECT ${COLUMNS} FROM inbox
      WHERE id > ? AND visible_at > ? AND visible_at <= ? AND kind NOT IN (${delayed})
      ORDER BY id LIMIT ${BATCH}`);
    const update = this.#database.prepare(
      "UPDATE inbox SET visible_at = ?, checksum = ? WHERE id = ?",
    );
    let last = Number.MIN_SAFE_INTEGER; // ids can be negative (I5 of inbox.ts)
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

/** A damaged row stays damaged. */
function checksumAt(row: Row, visibleAt: number): number {
  const moved = { ...toMessage(row), visibleAt };
  return checksumFor(moved, ...coveredOf(integer(row, "instance"), moved));
}

/** A store that takes part in a move runs nothing; its rows stay as they are. */
export function isFrozen(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith(MOVED);
}
