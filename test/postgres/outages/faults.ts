// What a database does to those who use it, one fault a function.
//   OF1. A function resolves when the database is back: from then on work has to go on.
//   OF2. Each says, in the proxy's counts, how a run can tell that it landed.

import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { OwnServer } from "../../support/postgres.ts";

/** Fits what the workers of a run need, and little more, so that it is soon exhausted. */
export const CONNECTIONS_MAX = 48;
const EXHAUSTED_MS = 1_500;
const DOWN_MS = 400;

export const OUTAGES = ["terminated", "crashed", "read-only", "exhausted"] as const;
export type OutageKind = (typeof OUTAGES)[number];
/** How every run begins, before it goes on by lot. */
export const FIRST: readonly OutageKind[] = [...OUTAGES, "terminated", "terminated"];

/** The SQLSTATEs that workers are told by each; a crash may also leave nothing but broken connections. */
export const SIGNS: Readonly<Record<OutageKind, readonly string[]>> = {
  terminated: ["57P01"],
  crashed: ["57P02", "57P03"],
  "read-only": ["25006"],
  exhausted: ["53300"],
};

export interface Victim {
  readonly server: OwnServer;
  readonly readOnlyMs: number;
  /** Resolves when something is under way that the fault will hit; it strikes at once then. */
  readonly moment: () => Promise<void>;
}

export async function strike(kind: OutageKind, victim: Victim): Promise<void> {
  const { server, moment } = victim;
  if (kind === "crashed") {
    await moment();
    await server.crash();
    await pause(DOWN_MS);
    return server.startAgain();
  }
  await withAdmin(server, async (admin) => {
    await moment();
    if (kind === "terminated") await terminateAll(admin);
    if (kind === "read-only") await readOnly(admin, victim.readOnlyMs);
    if (kind === "exhausted") await exhaust(server, admin);
  });
}

/** Everybody's connections but one's own are ended. */
async function terminateAll(admin: pg.Client): Promise<void> {
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
}

/** As a primary that was demoted, or a disk that was remounted. */
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

/** Somebody else has all the connections that there are. */
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
