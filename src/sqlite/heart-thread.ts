// The heart's thread: beats while the main loop turns, and copies the log into the database in between.
//   T1. It stops beating when the loop has not turned, or no outstanding call has returned, for `stallMs`; it
//       then notes what was running, once, in the runtime's row and on stderr. It resumes with the loop.
//   T2. A row that is gone means that somebody declared the runtime dead; that is told, never mended here.
//   T3. Beats need not survive a power cut, so they do not wait for the disk: the write lock is held briefly.
//   T4. A database that is busy or broken is a beat missed, nothing more.

import { statSync, writeSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { workerData } from "node:worker_threads";
import { GAP_INTERVALS, HeartBoard, processMs } from "./heart-board.ts";
import type { HeartThreadData } from "./heart.ts";

const BUSY_MS = 250;
const CHECKPOINT_EVERY_MS = 1_000;
const CHECKPOINT_BYTES = 4 * 1024 * 1024;
const STDERR = 2;

const { path, runtimeId, beatMs, stallMs, memory }: HeartThreadData = workerData;
const board = new HeartBoard(memory);

interface Line {
  readonly database: DatabaseSync;
  readonly beat: StatementSync;
  readonly note: StatementSync;
}
let line: Line | null = null;
let seen = board.read();
let turnedAt = processMs();
let calledAt = processMs();
let lastBeat = -Infinity;
let stalled = false;
let checkpointAt = 0;
let checkpointed = 0;

while (!board.sleep(Math.min(beatMs, CHECKPOINT_EVERY_MS))) {
  const now = processMs();
  observe(now);
  if (now - lastBeat >= beatMs * 0.9) {
    if (stalled) board.steadySince = 0;
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
    line = {
      database,
      beat: database.prepare("UPDATE runtimes SET beat_at = ?, note = NULL WHERE id = ?"),
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

/** Looks at the main loop; a stall is noted when it begins. */
function observe(now: number): void {
  const { turns, callsOpen, callsEnded, entering } = board.read();
  if (turns !== seen.turns) turnedAt = now;
  if (callsOpen === 0 || callsEnded !== seen.callsEnded || seen.callsOpen === 0) calledAt = now;
  seen = { turns, callsOpen, callsEnded, entering };
  const since = Math.min(turnedAt, calledAt);
  if (now - since < stallMs) {
    stalled = false;
  } else if (!stalled) {
    stalled = true;
    const what = turnedAt <= calledAt ? entering : "a call to the store";
    note(what, now - since);
  }
}

function beat(now: number): void {
  try {
    board.lost = connect().beat.run(Date.now(), runtimeId).changes === 0;
    if (board.lost) board.steadySince = 0;
    else if (board.steadySince === 0 || now - lastBeat > beatMs * GAP_INTERVALS)
      board.steadySince = now;
    lastBeat = now;
    board.lastBeat = now;
  } catch {
    board.steadySince = 0;
  }
}

function note(what: string, stalledMs: number): void {
  const since = Math.round(Date.now() - stalledMs);
  const name = what === "" ? "unknown work" : what;
  const line = `perdure: the event loop has stood still for ${Math.round(stalledMs)} ms in ${name}; runtime ${runtimeId} stops beating until it turns again.\n`;
  try {
    // Not console: that would wait for the very loop that stands still.
    writeSync(STDERR, line);
    connect().note.run(JSON.stringify({ running: what, since }), runtimeId);
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
