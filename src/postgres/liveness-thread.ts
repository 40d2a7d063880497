// The liveness thread: writes heartbeats while the main thread's event loop turns, on a separate
// connection.
//   - When it writes a heartbeat and what it reports: stall-detector.1 and stall-detector.2.
//   - Heartbeats need not survive a crash of the server, so the thread does not wait for the server's disk.
//   - postgres.liveness-thread.1: If the database is unreachable, the thread skips the heartbeat and goes
//       on. It reconnects for the next heartbeat.
//   - postgres.liveness-thread.2: Without a connection the thread retries every RETRY_MS, more often than
//       the pool does. When connections are scarce after an outage, the one for heartbeats is opened first.

import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import pg from "pg";
import { BeatChannel, processMs, shareClock } from "../liveness/beat-channel.ts";
import type { LivenessThreadData } from "../liveness/liveness-threads.ts";
import { StallDetector, type Stall } from "../liveness/stall-detector.ts";
import { clientClass, dialMs } from "./connection/dial.ts";
import type { Connecting } from "./connection/store.ts";

/** The data that the thread needs to connect to the store. */
export interface StoreAddress extends Connecting {
  /** Quoted for use in statements. */
  readonly schema: string;
}

/** The `workerData` of the thread. */
type ThreadData = StoreAddress & LivenessThreadData;

const STDERR = 2;
const ANSWER_MS = 2_000;
/** postgres.liveness-thread.2 */
const RETRY_MS = 100;
const ignore = (): void => {};

const { config, dialing, schema, runtimeId, beatMs, stallMs, memory, epochMs }: ThreadData =
  workerData;
shareClock(epochMs);
const channel = new BeatChannel(memory);
const detector = new StallDetector(channel, { runtimeId, beatMs, stallMs });
const BEAT = `UPDATE ${schema}.runtimes SET beat_at = ${schema}.clock(), note = NULL WHERE id = $1`;
const NOTE = `UPDATE ${schema}.runtimes SET note = $1 WHERE id = $2`;

const Client = clientClass(pg, dialing);

let connection: pg.Client | null = null;
let hasFailed = false;

while (
  !(await channel.rest(connection === null && hasFailed ? Math.min(beatMs, RETRY_MS) : beatMs))
) {
  const now = processMs();
  const stall = detector.observe(now);
  if (stall !== null) await note(stall);
  if (detector.stalled) detector.missed();
  else await beat(now);
}
await disconnect();

/** The thread's connection, opened when it is first needed. */
async function connect(): Promise<pg.Client> {
  if (connection !== null) return connection;
  const client = new Client({
    ...config,
    application_name: "perdure liveness",
    connectionTimeoutMillis: dialMs(dialing, ANSWER_MS),
    query_timeout: ANSWER_MS,
  });
  client.on("error", ignore); // the next heartbeat fails and reconnects
  await client.connect();
  connection = client;
  return client;
}

async function disconnect(): Promise<void> {
  const client = connection;
  connection = null;
  await client?.end().catch(ignore);
}

/** Sets `synchronous_commit` for one transaction, never for the session: a pooler may share the session. */
async function write(sql: string, values: readonly string[]): Promise<number> {
  const client = await connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT set_config('synchronous_commit', 'off', true)");
    const { rowCount } = await client.query(sql, [...values]);
    await client.query("COMMIT");
    return rowCount ?? 0;
  } catch (error) {
    void disconnect(); // not awaited: closing may hang
    throw error;
  }
}

async function beat(now: number): Promise<void> {
  try {
    detector.beaten(now, (await write(BEAT, [runtimeId])) > 0);
  } catch {
    detector.missed(); // postgres.liveness-thread.1
    hasFailed = true;
  }
}

async function note(stall: Stall): Promise<void> {
  try {
    writeSync(STDERR, stall.line);
    await write(NOTE, [stall.note, runtimeId]);
  } catch {
    // postgres.liveness-thread.1
  }
}
