// The heart's thread: beats while the main loop turns, on a connection of its own.
//   T1. It stops beating when the loop has not turned, or no outstanding call has returned, for `stallMs`; it
//       then notes what was running, once, in the runtime's row and on stderr. It resumes with the loop.
//   T2. A row that is gone means that somebody declared the runtime dead; that is told, never mended here.
//   T3. Beats need not survive a crash of the server, so they do not wait for its disk.
//   T4. A database that is away is a beat missed, nothing more; the connection is made anew for the next one.

import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import pg from "pg";
import { GAP_INTERVALS, HeartBoard, processMs } from "./heart-board.ts";
import type { HeartThreadData } from "./heart.ts";

const STDERR = 2;
const ANSWER_MS = 2_000;
const ignore = (): void => {};

const { config, schema, runtimeId, beatMs, stallMs, memory }: HeartThreadData = workerData;
const board = new HeartBoard(memory);
const BEAT = `UPDATE ${schema}.runtimes SET beat_at = ${schema}.clock(), note = NULL WHERE id = $1`;
const NOTE = `UPDATE ${schema}.runtimes SET note = $1 WHERE id = $2`;

let line: pg.Client | null = null;
let seen = board.read();
let turnedAt = processMs();
let calledAt = processMs();
let lastBeat = -Infinity;
let stalled = false;

while (!(await board.sleep(beatMs))) {
  const now = processMs();
  await observe(now);
  if (stalled) board.steadySince = 0;
  else await beat(now);
}
await disconnect();

/** The thread's own connection, made when it is first needed and can be. */
async function connect(): Promise<pg.Client> {
  if (line !== null) return line;
  const client = new pg.Client({
    ...config,
    application_name: "perdure heart",
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  });
  client.on("error", ignore); // the next beat finds out
  await client.connect();
  line = client;
  return client;
}

async function disconnect(): Promise<void> {
  const client = line;
  line = null;
  await client?.end().catch(ignore);
}

/** In a transaction of its own, because nothing is set on a session (a pooler may share it). */
async function write(sql: string, values: readonly string[]): Promise<number> {
  const client = await connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT set_config('synchronous_commit', 'off', true)");
    const { rowCount } = await client.query(sql, [...values]);
    await client.query("COMMIT");
    return rowCount ?? 0;
  } catch (error) {
    void disconnect(); // it is not waited for: it may hang
    throw error;
  }
}

/** Looks at the main loop; a stall is noted when it begins. */
async function observe(now: number): Promise<void> {
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
    await note(what, now - since);
  }
}

async function beat(now: number): Promise<void> {
  try {
    board.lost = (await write(BEAT, [runtimeId])) === 0;
    if (board.lost) board.steadySince = 0;
    else if (board.steadySince === 0 || now - lastBeat > beatMs * GAP_INTERVALS)
      board.steadySince = now;
    lastBeat = now;
    board.lastBeat = now;
  } catch {
    board.steadySince = 0;
  }
}

async function note(what: string, stalledMs: number): Promise<void> {
  const since = Math.round(Date.now() - stalledMs);
  const name = what === "" ? "unknown work" : what;
  const said = `perdure: the event loop has stood still for ${Math.round(stalledMs)} ms in ${name}; runtime ${runtimeId} stops beating until it turns again.\n`;
  try {
    // Not console: that would wait for the very loop that stands still.
    writeSync(STDERR, said);
    await write(NOTE, [JSON.stringify({ running: what, since }), runtimeId]);
  } catch {
    // T4
  }
}
