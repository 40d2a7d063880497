// Absurd on PostgreSQL.
//   Its npm package holds the SDK; its tables and procedures are `sql/absurd.sql` of the same release, which
//   `absurdctl init` would load. `ABSURD_SQL` names that file.
//   Recommended: a worker with the concurrency of its documentation's examples, 4; polling every 250 ms, a lease of
//   120 s and `awaitTaskResult`, which backs off from 50 ms to 1 s: its defaults. A pool of 10.
//   Tuned: 100 tasks at once, claimed 100 at a time, polling every 10 ms, a lease of 10 s (the work of a killed worker
//   is free only when its lease ends; a step extends it), a pool of 20; results polled every 5 ms, the oldest first.

import { readFileSync } from "node:fs";
import { Absurd, type TaskResultSnapshot } from "absurd-sdk";
import pg from "pg";
import { oldestFirst } from "../oldest-first.ts";
import type { Adapter, Input } from "../peer.ts";

const QUEUE = "bench";
const RECOMMENDED = { concurrency: 4 };
const TUNED = { concurrency: 100, batchSize: 100, pollInterval: 0.01, claimTimeout: 10 };
const POOL = { recommended: 10, tuned: 20 };
const POLL_MS = 5;

export const adapter: Adapter = {
  async open({ database, tuned }, work) {
    if (database === null) throw new Error("Absurd runs on PostgreSQL.");
    const max = tuned ? POOL.tuned : POOL.recommended;
    const pool = new pg.Pool({ connectionString: database.url, max });
    await initialize(pool);
    const app = new Absurd({ db: pool, queueName: QUEUE });
    await app.createQueue(QUEUE);
    app.registerTask<Input, number>({ name: "row" }, async ({ id, n, value }, ctx) => {
      for (let i = 0; i < n; i++) {
        const before = value;
        value = await ctx.step(`step-${i}`, () => work.step(before, { id, index: i }));
      }
      return value;
    });
    app.registerTask<Input, number>({ name: "fan" }, async ({ id, n }, ctx) => {
      const steps = Array.from({ length: n }, (_, i) =>
        ctx.step(`step-${i}`, () => work.step(i, { id, index: i })),
      );
      return (await Promise.all(steps)).reduce((sum, value) => sum + value, 0);
    });
    app.registerTask<Input, number>({ name: "wait" }, async ({ id }, ctx) => {
      work.waits(id);
      return Number(await ctx.awaitEvent(id));
    });
    const worker = await app.startWorker(tuned ? TUNED : RECOMMENDED);
    const look = async (key: string): Promise<number | undefined> => {
      const found = await app.fetchTaskResult(key);
      return found === null ? undefined : valueOf(found);
    };
    const soon = oldestFirst(look, POLL_MS);
    const byItself = async (key: string): Promise<number> =>
      valueOf(await app.awaitTaskResult(key, { timeout: 600 })) ?? Number.NaN;
    return {
      start: async (program, input) => (await app.spawn(program, input)).taskID,
      result: (key) => (tuned ? soon(key) : byItself(key)),
      async signal(_, { id, value }) {
        await app.emitEvent(id, value);
        return true;
      },
      async close() {
        await worker.close();
        await pool.end();
      },
    };
  },
};

function valueOf(found: TaskResultSnapshot): number | undefined {
  if (found.state === "failed" || found.state === "cancelled") {
    throw new Error(`A task ended as ${found.state}: ${JSON.stringify(found)}`);
  }
  return found.state === "completed" ? Number(found.result) : undefined;
}

/** Runs once per database. */
async function initialize(pool: pg.Pool): Promise<void> {
  const file = process.env["ABSURD_SQL"] ?? "";
  if (file === "") throw new Error("ABSURD_SQL must name sql/absurd.sql of Absurd's release.");
  const { rows } = await pool.query("SELECT 1 FROM pg_namespace WHERE nspname = 'absurd'");
  if (rows.length === 0) await pool.query(readFileSync(file, "utf8"));
}
