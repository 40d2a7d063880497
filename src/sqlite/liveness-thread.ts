// The liveness thread: writes heartbeats while the main thread's event loop turns, and checkpoints the WAL.
//   - When it writes a heartbeat and what it reports: stall-detector.1 and stall-detector.2.
//   - Heartbeats need not survive a power failure. The thread writes them without waiting for the disk, so
//       it holds the write lock only briefly.
//   - sqlite.liveness-thread.1: If the database is busy or broken, the thread skips the heartbeat and goes
//       on.

import { writeSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { workerData } from "node:worker_threads";
import { BeatChannel, processMs, shareClock } from "../liveness/beat-channel.ts";
import type { LivenessThreadData } from "../liveness/liveness-threads.ts";
import { StallDetector, type Stall } from "../liveness/stall-detector.ts";
import { CLOCK_STEP_MS, RAISE_CLOCK } from "./connection/clock.ts";
import { inTransaction } from "./connection/in-transaction.ts";
import { readLogLength, type LogLength } from "./connection/log-length.ts";
import { LOG_LIMIT } from "./connection/settings.ts";
import { integer } from "../sql/columns.ts";

/** The data that the thread needs to connect to the store. */
export interface StoreAddress {
  readonly path: string;
}

/** The `workerData` of the thread. */
type ThreadData = StoreAddress & LivenessThreadData;

const BUSY_MS = 250;
/** How often the thread looks at the WAL: at rest, and while the WAL is being written. */
const LOOK_MS = 250;
const LOOK_WRITTEN_MS = 50;
/**
 * Each checkpoint costs three syncs, one of them in the commit that restarts the log. So the thread
 * checkpoints only if this much is not copied yet.
 */
const CHECKPOINT_BYTES = 4 * 1024 * 1024;
/**
 * A long log makes every commit slower, and a checkpoint during writes leaves the last frames, so the log
 * would not restart. If at most this many frames are left, the thread copies them while it keeps writers out,
 * for about a millisecond, and the next commit restarts the log.
 */
const RESTART_FRAMES = 250;
const STDERR = 2;

const { path, runtimeId, beatMs, stallMs, memory, epochMs }: ThreadData = workerData;
shareClock(epochMs);
const channel = new BeatChannel(memory);
const detector = new StallDetector(channel, { runtimeId, beatMs, stallMs });

interface ThreadConnection {
  readonly database: DatabaseSync;
  readonly beat: StatementSync;
  readonly raiseClock: StatementSync;
  readonly note: StatementSync;
}
let connection: ThreadConnection | null = null;
let lookMs = LOOK_MS;
/** What the thread has last seen of the log, and how many of its frames are copied. */
let seen: LogLength | null = null;
let copied = 0;

while (!channel.sleep(Math.min(beatMs, lookMs))) {
  const now = processMs();
  const stall = detector.observe(now);
  if (stall !== null) note(stall);
  if (detector.isDue(now)) {
    if (detector.stalled) detector.missed();
    else beat(now);
  }
  lookMs = checkpoint() ? LOOK_WRITTEN_MS : LOOK_MS;
}
disconnect();

/** The thread's connection, opened when it is first needed. */
function connect(): ThreadConnection {
  if (connection !== null) return connection;
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    database.exec("PRAGMA synchronous = normal; PRAGMA wal_autocheckpoint = 0");
    database.exec(LOG_LIMIT);
    connection = {
      database,
      beat: database.prepare("UPDATE runtimes SET beat_at = ?, note = NULL WHERE id = ?"),
      raiseClock: database.prepare(RAISE_CLOCK),
      note: database.prepare("UPDATE runtimes SET note = ? WHERE id = ?"),
    };
    return connection;
  } catch (error) {
    database.close();
    throw error;
  }
}

function disconnect(): void {
  connection?.database.close();
}

function beat(now: number): void {
  try {
    detector.beaten(now, writeBeat(connect()));
  } catch {
    detector.missed(); // sqlite.liveness-thread.1
  }
}

/** Returns whether the runtime is still registered. */
function writeBeat({ database, beat, raiseClock }: ThreadConnection): boolean {
  return inTransaction(database, "BEGIN IMMEDIATE", () => {
    const at = Date.now();
    raiseClock.run(at, at + CLOCK_STEP_MS);
    return beat.run(at, runtimeId).changes > 0;
  });
}

function note(stall: Stall): void {
  try {
    writeSync(STDERR, stall.line);
    connect().note.run(stall.note, runtimeId);
  } catch {
    // sqlite.liveness-thread.1
  }
}

/**
 * Copies the WAL into the database, so that the main thread does not have to (docs/decisions/0036). Returns
 * whether the WAL was written since the last call.
 */
function checkpoint(): boolean {
  try {
    const log = readLogLength(`${path}-wal`);
    const isWritten = log?.salt !== seen?.salt || log?.frames !== seen?.frames;
    if (log?.salt !== seen?.salt) copied = 0;
    seen = log;
    if (log === null || (log.frames - copied) * log.frameBytes < CHECKPOINT_BYTES) return isWritten;
    const { database } = connect();
    const row = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
    copied = integer(row, "checkpointed");
    if (integer(row, "log") - copied <= RESTART_FRAMES) restart(database);
    return true;
  } catch {
    return false; // sqlite.liveness-thread.1
  }
}

/** Does not wait for a writer or a reader: the next checkpoint tries again. */
function restart(database: DatabaseSync): void {
  database.exec("PRAGMA busy_timeout = 0");
  try {
    database.exec("PRAGMA wal_checkpoint(RESTART)");
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  }
}
