// The heart's thread: beats while the main loop turns, and copies the log into the database in between.
//   T1, T2. Whether it beats, and what it tells: heart/pulse.ts.
//   T3. Beats need not survive a power cut, so they do not wait for the disk: the write lock is held briefly.
//   T4. A database that is busy or broken is a beat missed, nothing more.

import { statSync, writeSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { workerData } from "node:worker_threads";
import { HeartBoard, processMs } from "../heart/heart-board.ts";
import { Pulse, type Stall } from "../heart/pulse.ts";
import { CLOCK_STEP_MS, RAISE_CLOCK } from "./clock.ts";
import type { ThreadData } from "./heart.ts";
import { LOG_LIMIT } from "./settings.ts";

const BUSY_MS = 250;
const CHECKPOINT_EVERY_MS = 1_000;
const CHECKPOINT_BYTES = 4 * 1024 * 1024;
const STDERR = 2;

const { path, runtimeId, beatMs, stallMs, memory }: ThreadData = workerData;
const board = new HeartBoard(memory);
const pulse = new Pulse(board, { runtimeId, beatMs, stallMs });

interface Line {
  readonly database: DatabaseSync;
  readonly beat: StatementSync;
  readonly raiseClock: StatementSync;
  readonly note: StatementSync;
}
let line: Line | null = null;
let checkpointAt = 0;
let checkpointed = 0;

while (!board.sleep(Math.min(beatMs, CHECKPOINT_EVERY_MS))) {
  const now = processMs();
  const stall = pulse.observe(now);
  if (stall !== null) note(stall);
  if (pulse.isDue(now)) {
    if (pulse.stalled) pulse.missed();
    else beat(now);
  }
  if (now - checkpointAt >= CHECKPOINT_EVERY_MS) checkpoint(now);
}
disconnect();

/** The thread's own connection, made when it is first needed and can be. */
function connect(): Line {
  if (line !== null) return line;
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    database.exec("PRAGMA synchronous = normal; PRAGMA wal_autocheckpoint = 0");
    database.exec(LOG_LIMIT);
    line = {
      database,
      beat: database.prepare("UPDATE runtimes SET beat_at = ?, note = NULL WHERE id = ?"),
      raiseClock: database.prepare(RAISE_CLOCK),
      note: database.prepare("UPDATE runtimes SET note = ? WHERE id = ?"),
    };
    return line;
  } catch (error) {
    database.close();
    throw error;
  }
}

function disconnect(): void {
  line?.database.close();
}

function beat(now: number): void {
  try {
    pulse.beaten(now, writeBeat(connect()));
  } catch {
    pulse.missed(); // T4
  }
}

/** Whether the runtime is still registered. */
function writeBeat({ database, beat, raiseClock }: Line): boolean {
  database.exec("BEGIN IMMEDIATE");
  try {
    const at = Date.now();
    raiseClock.run(at, at + CLOCK_STEP_MS);
    const isKnown = beat.run(at, runtimeId).changes > 0;
    database.exec("COMMIT");
    return isKnown;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function note(stall: Stall): void {
  try {
    writeSync(STDERR, stall.line);
    connect().note.run(stall.note, runtimeId);
  } catch {
    // T4
  }
}

/** Copies the log into the database, so that the main thread need not. */
function checkpoint(now: number): void {
  checkpointAt = now;
  try {
    const log = statSync(`${path}-wal`);
    if (log.size < CHECKPOINT_BYTES || log.mtimeMs === checkpointed) return;
    connect().database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    checkpointed = log.mtimeMs;
  } catch {
    // T4
  }
}
