// A server that is out of connections: a live worker whose liveness thread cannot connect is not declared dead.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { fastDirectory } from "../../support/fast-directory.ts";
import { SETTINGS, startServer } from "../../support/postgres.ts";
import { startRuntime, until } from "./support.ts";

const BEAT_MS = 100;
const STALE_MS = 1_000;

test("without a connection for heartbeats the worker sends them over its pool", async () => {
  const server = await startServer(fastDirectory(), {
    ...SETTINGS,
    max_connections: "12",
    superuser_reserved_connections: "0",
  });
  onTestFinished(() => server.close());
  const provider = await PostgresProvider.open(server.url, { schema: "scarce", poolSize: 2 });
  onTestFinished(() => provider.close());
  const register = [orchestration("main", async () => "done")];
  const { runtime } = await startRuntime(provider, register, {
    beatMs: BEAT_MS,
    staleMs: STALE_MS,
    pollIntervalMs: 100,
  });
  const hogs = await Hogs.open(server.url);
  onTestFinished(() => hogs.close());

  const livenessThreads = "application_name = 'perdure liveness'";
  /** Takes all connections from the liveness thread; true if it has none. */
  const starve = async (): Promise<boolean> => {
    await hogs.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${livenessThreads}`,
    );
    await hogs.fill();
    const rows = await hogs.query(`SELECT 1 FROM pg_stat_activity WHERE ${livenessThreads}`);
    return rows.length === 0;
  };
  await until("all connections are taken, and none by a liveness thread", starve);
  const beatAt = async (): Promise<number> => {
    const rows = await hogs.query("SELECT id, beat_at FROM scarce.runtimes");
    expect(rows.map(({ id }) => id)).toEqual([runtime.id]);
    return Number(rows[0]?.["beat_at"]);
  };
  const first = await beatAt();
  await until("heartbeats continue", async () => {
    await starve();
    return (await beatAt()) > first + 2 * STALE_MS;
  });
});

/** Takes all free connections of the server. */
class Hogs {
  readonly #url: string;
  readonly #first: pg.Client;
  readonly #others: pg.Client[] = [];

  static async open(url: string): Promise<Hogs> {
    const first = new pg.Client(url);
    await first.connect();
    return new Hogs(url, first);
  }

  private constructor(url: string, first: pg.Client) {
    this.#url = url;
    this.#first = first;
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#first.query<Record<string, unknown>>(sql)).rows;
  }

  /** Takes connections until the server refuses one. */
  async fill(): Promise<void> {
    for (;;) {
      const client = new pg.Client(this.#url);
      client.on("error", () => undefined);
      try {
        await client.connect();
      } catch {
        return;
      }
      this.#others.push(client);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#first, ...this.#others].map((client) => client.end()));
  }
}
