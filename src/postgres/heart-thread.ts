// The heart's thread: beats while the main loop turns, on a connection of its own.
//   T1, T2. Whether it beats, and what it tells: heart/pulse.ts.
//   T3. Beats need not survive a crash of the server, so they do not wait for its disk.
//   T4. A database that is away is a beat missed, nothing more; the connection is made anew for the next one.
//   T5. Without a connection it tries again every RETRY_MS, more often than the pool does: where connections are scarce
//       after an outage, the one for heartbeats comes first.

import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import pg from "pg";
import { HeartBoard, processMs } from "../heart/heart-board.ts";
import { Pulse, type Stall } from "../heart/pulse.ts";
import { clientClass, dialMs } from "./dial.ts";
import type { ThreadData } from "./heart.ts";

const STDERR = 2;
const ANSWER_MS = 2_000;
/** T5 */
const RETRY_MS = 100;
const ignore = (): void => {};

const { config, dialing, schema, runtimeId, beatMs, stallMs, memory }: ThreadData = workerData;
const board = new HeartBoard(memory);
const pulse = new Pulse(board, { runtimeId, beatMs, stallMs });
const BEAT = `UPDATE ${schema}.runtimes SET beat_at = ${schema}.clock(), note = NULL WHERE id = $1`;
const NOTE = `UPDATE ${schema}.runtimes SET note = $1 WHERE id = $2`;

const Client = clientClass(pg, dialing);

let line: pg.Client | null = null;
let hasFailed = false;

while (!(await board.rest(line === null && hasFailed ? Math.min(beatMs, RETRY_MS) : beatMs))) {
  const now = processMs();
  const stall = pulse.observe(now);
  if (stall !== null) await note(stall);
  if (pulse.stalled) pulse.missed();
  else await beat(now);
}
await disconnect();

/** The thread's own connection, made when it is first needed and can be. */
async function connect(): Promise<pg.Client> {
  if (line !== null) return line;
  const client = new Client({
    ...config,
    application_name: "perdure heart",
    connectionTimeoutMillis: dialMs(dialing, ANSWER_MS),
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

async function beat(now: number): Promise<void> {
  try {
    pulse.beaten(now, (await write(BEAT, [runtimeId])) > 0);
  } catch {
    pulse.missed(); // T4
    hasFailed = true;
  }
}

async function note(stall: Stall): Promise<void> {
  try {
    writeSync(STDERR, stall.line);
    await write(NOTE, [stall.note, runtimeId]);
  } catch {
    // T4
  }
}
