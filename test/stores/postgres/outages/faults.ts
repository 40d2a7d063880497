// Faults of a database, one function per fault.
//   - A function resolves when the database is available again. From then on work must continue.
//   - SIGNS lists the SQLSTATEs that show, in the counts of the proxy, that a fault took effect.

import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { OwnServer } from "../../../support/postgres.ts";

/** Slightly more than the workers of a run need, so that the limit is reached quickly. */
export const CONNECTIONS_MAX = 48;
const EXHAUSTED_MS = 1_500;
const DOWN_MS = 400;

export const OUTAGES = ["terminated", "crashed", "read-only", "exhausted"] as const;
export type OutageKind = (typeof OUTAGES)[number];
/** The first outages of every run; later outages are random. */
export const FIRST: readonly OutageKind[] = [...OUTAGES, "terminated", "terminated"];

/** The SQLSTATEs that workers receive for each kind; a crash may also only break connections. */
export const SIGNS: Readonly<Record<OutageKind, readonly string[]>> = {
  terminated: ["57P01"],
  crashed: ["57P02", "57P03"],
  "read-only": ["25006"],
  exhausted: ["53300"],
};

export interface Target {
  readonly server: OwnServer;
  readonly readOnlyMs: number;
  /** Resolves when work is in flight; the fault begins at that moment. */
  readonly moment: () => Promise<void>;
}

export async function strike(kind: OutageKind, target: Target): Promise<void> {
  const { server, moment } = target;
  if (kind === "crashed") {
    await moment();
    await server.crash();
    await pause(DOWN_MS);
    return server.startAgain();
  }
  await withAdmin(server, async (admin) => {
    await moment();
    if (kind === "terminated") await terminateAll(admin);
    if (kind === "read-only") await readOnly(admin, target.readOnlyMs);
    if (kind === "exhausted") await exhaust(server, admin);
  });
}

/** Ends all connections except its own. */
async function terminateAll(admin: pg.Client): Promise<void> {
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
}

/** Like a demoted primary, or a disk remounted read-only. */
async function readOnly(admin: pg.Client, ms: number): Promise<void> {
  await admin.query("ALTER SYSTEM SET default_transaction_read_only = on");
  await admin.query("SELECT pg_reload_conf()");
  try {
    await pause(ms);
  } finally {
    await admin.query("ALTER SYSTEM RESET default_transaction_read_only");
    await admin.query("SELECT pg_reload_conf()");
  }
}

/** Takes all available connections. */
async function exhaust(server: OwnServer, admin: pg.Client): Promise<void> {
  const until = performance.now() + EXHAUSTED_MS;
  const hogs = new Set<pg.Client>();
  const hog = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url });
    client.on("error", () => hogs.delete(client));
    await client.connect();
    hogs.add(client);
  };
  await terminateAll(admin);
  while (performance.now() < until) {
    const left = CONNECTIONS_MAX - hogs.size;
    await Promise.allSettled(Array.from({ length: left }, hog));
    await pause(20);
  }
  await Promise.allSettled([...hogs].map((client) => client.end()));
}

async function withAdmin(
  server: OwnServer,
  work: (admin: pg.Client) => Promise<void>,
): Promise<void> {
  const admin = new pg.Client({ connectionString: server.url });
  admin.on("error", () => undefined);
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
