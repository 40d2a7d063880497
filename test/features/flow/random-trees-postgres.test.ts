// The same random trees on PostgreSQL, in real time, while runtimes that share the store die.
//   PERDURE_PG_TREES sets their number (20, or 1,000 with PERDURE_FULL). PERDURE_SEED repeats a run.

import fc from "fast-check";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { Client, Perdure, type Provider } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { seedFromEnvironment, wholeNumber } from "../../faults/kill/chance.ts";
import { SeverableProvider } from "../../scenarios/support/severable-provider.ts";
import { dropSchema, freshSchema, postgres } from "../../support/postgres.ts";
import {
  childOf,
  flowOf,
  PAYLOAD,
  plain,
  randomFlows,
  REAL,
  reference,
  type RandomFlow,
} from "./random-trees.ts";

const BATCH = 20;
const TREES = wholeNumber("PERDURE_PG_TREES") ?? (process.env["PERDURE_FULL"] === "1" ? 1_000 : 20);
const SEED = seedFromEnvironment();
const TREE_TIMEOUT_MS = 120_000;

const pool = postgres().then(({ url }) => new pg.Pool({ connectionString: url, max: 12 }));
afterAll(async () => (await pool).end());

test(
  `${TREES} random trees on PostgreSQL return the expected results`,
  { timeout: 900_000 },
  async () => {
    console.log(`PERDURE_SEED=${SEED} PERDURE_PG_TREES=${TREES}`);
    const batches = fc.sample(
      fc.array(randomFlows, { minLength: BATCH, maxLength: BATCH, size: "max" }),
      {
        seed: SEED,
        numRuns: Math.ceil(TREES / BATCH),
      },
    );
    for (const batch of batches) await runBatch(batch);
  },
);

async function runBatch(flows: readonly RandomFlow[]): Promise<void> {
  const schema = freshSchema();
  const store = await PostgresProvider.open(await pool, { schema });
  const built = flows.map((each, index) => flowOf(`tree${index}`, each, REAL));
  const register = [...built, childOf(REAL)];
  const started = new Set<string>();
  const boot = async () => {
    const line = new SeverableProvider(store, started);
    const runtime = { log: () => undefined };
    return { line, perdure: await Perdure.open(line.provider, { register, runtime }) };
  };
  const client = new Client(store);
  let fleet = [await boot(), await boot()];
  try {
    for (const [index, each] of built.entries()) {
      const { signals } = reference(each.definition.nodes, flows[index]?.input);
      const events = Array.from({ length: signals }, () => ({ name: "sent", data: PAYLOAD }));
      await client.start(each, flows[index]?.input, { id: `i${index}`, events });
    }
    for (let death = 0; death < 3; death++) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const [dead, ...others] = fleet;
      dead?.line.sever();
      await expire(store, dead?.perdure.runtime.id ?? "");
      fleet = [...others, await boot()];
      void dead?.perdure.runtime.shutdown({ graceMs: 0 });
    }
    for (const [index, each] of built.entries()) {
      const { outcome } = reference(each.definition.nodes, flows[index]?.input);
      const found = await client
        .get(`i${index}`)
        .result({ timeout: TREE_TIMEOUT_MS })
        .then(
          (value) => ({ value: plain(value) }),
          (error: { code?: string }) => (error.code === "ORCHESTRATION_FAILED" ? "failed" : error),
        );
      expect(found, JSON.stringify(flows[index])).toEqual(outcome);
    }
  } finally {
    await Promise.all(fleet.map(({ perdure }) => perdure.close({ graceMs: 0 })));
    await store.close();
    await dropSchema(schema);
  }
}

/** Declares a runtime dead at once, so that others take over without delay. */
async function expire(store: Provider, id: string): Promise<void> {
  await store.expireRuntime({ id, staleMs: null });
}
