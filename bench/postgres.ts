// The PostgreSQL server of a run: one for all repetitions, each with a new, empty database.
//   - Its data directory is new and on the chosen disk; it is durable: `fsync=on`, `synchronous_commit=on`.
//   - `DATABASE_URL` names another server instead; its settings are read back and reported, never changed.
//   - The traces of a repetition are removed before the next: its database is dropped, every page is written out.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { serverAt, startServer, type Server } from "../test/support/postgres.ts";

/** The settings that a figure depends on, as the server reports them; all other settings are the defaults. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "256MB",
  max_wal_size: "4GB", // no checkpoint in the middle of a repetition
  checkpoint_timeout: "30min",
  max_connections: "200",
  log_min_messages: "fatal",
};
const REPORTED = [
  ...Object.keys(SETTINGS),
  "autovacuum",
  "wal_level",
  "wal_sync_method",
  "jit",
].filter((name) => name !== "listen_addresses" && name !== "log_min_messages");

/** 42501: only some roles may run a checkpoint. */
const NOT_ALLOWED = "42501";

export interface Postgres {
  readonly version: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Whether it was started for this run. */
  readonly own: boolean;
  /** Creates an empty database, and returns the function that drops it. */
  freshDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>;
}

export async function openPostgres(
  directory: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Postgres> {
  const given = process.env["DATABASE_URL"] ?? "";
  const server =
    given === ""
      ? await startServer(directory, { ...SETTINGS, ...settings })
      : serverAt(given, null);
  const rows = await server.query(
    "SELECT name, current_setting(name) AS value FROM pg_settings WHERE name = ANY($1) ORDER BY name",
    [[...REPORTED, "server_version"]],
  );
  const { server_version: version = "unknown", ...reported } = Object.fromEntries(
    rows.map(({ name, value }) => [String(name), String(value)]),
  );
  return {
    version,
    settings: reported,
    own: given === "",
    freshDatabase: () => freshDatabase(server),
  };
}

async function freshDatabase(server: Server): ReturnType<Postgres["freshDatabase"]> {
  const name = `perdure_bench_${randomBytes(6).toString("hex")}`;
  await server.query(`CREATE DATABASE ${name}`);
  await checkpoint(server);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => void (await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

async function checkpoint(server: Server): Promise<void> {
  try {
    await server.query("CHECKPOINT");
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === NOT_ALLOWED)) throw error;
  }
}
