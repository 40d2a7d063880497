// Clients that call one store concurrently get answers that are possible for some sequential order of the calls. The seed
// is printed; PERDURE_SEED repeats the same choices, but not the same races.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { seedFromEnvironment } from "../../faults/kill/chance.ts";
import { Tally } from "../model/tally.ts";
import { dropSchema, freshSchema } from "../../support/postgres.ts";
import type { BreakageName } from "./broken-clients.ts";
import { checkHistory, holdsInCallOrder } from "./checker.ts";
import { postgresClient, sqliteClient, type Client } from "./client.ts";
import { makeHistory, overlapping, STARTS_AT, formatOrder, type Made } from "./history.ts";
import { CALL_KINDS, type CallKind } from "./next-call.ts";
import { asSteps, storeModel } from "./store-model.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const HISTORIES = IS_FULL ? 2_000 : 100;
const TIMEOUT_MS = IS_FULL ? 1_800_000 : 120_000;
/** How often every kind of call must have succeeded, and how often it must have been refused. */
const LEAST = IS_FULL ? 40 : 1;
/** The limit for further histories until LEAST is reached, as a multiple of HISTORIES. */
const TIMES_MAX = 3;
const CLIENTS = 4;
const SEED = seedFromEnvironment();

interface Store {
  readonly name: string;
  /** store-model.1 */
  readonly leases: "whole" | "apart";
  open(breakage?: BreakageName): Promise<OpenStore>;
}
interface OpenStore {
  readonly clients: readonly Client[];
  close(): Promise<void>;
}
const SQLITE: Store = {
  name: "SQLite",
  leases: "whole",
  open(breakage) {
    const folder = mkdtempSync(join(tmpdir(), "perdure-linearizability-"));
    const client = () => sqliteClient(join(folder, "store.db"), breakage);
    return several(client, async () => rmSync(folder, { recursive: true }));
  },
};
const POSTGRES: Store = {
  name: "PostgreSQL",
  leases: "apart",
  open(breakage) {
    const schema = freshSchema();
    return several(
      () => postgresClient(schema, breakage),
      () => dropSchema(schema),
    );
  },
};

describe.each([SQLITE, POSTGRES])("$name", ({ leases, open }) => {
  let store: OpenStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  test(
    "overlapping calls are linearizable",
    async () => {
      const { clients } = store;
      const tally = new Tally();
      const met = { overlapping: 0, contended: 0 };
      for (let seed = SEED; seed < SEED + TIMES_MAX * HISTORIES; seed += 1) {
        if (seed >= SEED + HISTORIES && tally.rare(LEAST, CALL_KINDS).length === 0) break;
        const history = await makeHistory(clients, { seed });
        expect(problemOf(history, leases), `PERDURE_SEED=${seed}`).toBeNull();
        for (const { input, output } of history) tally.add(input, output);
        if (overlapping(history) >= CLIENTS) met.overlapping += 1;
        if (!holdsInCallOrder(asSteps(history, leases), storeModel(STARTS_AT))) met.contended += 1;
      }
      console.log(`PERDURE_SEED=${SEED}: ${JSON.stringify(met)}; ${tally.steps} calls; ${tally}`);
      expect(tally.rare(LEAST, CALL_KINDS), `seed ${SEED}`).toEqual([]);
      expect(met.overlapping).toBeGreaterThanOrEqual(HISTORIES * 0.6); // about 85 % overlap
      expect(met.contended).toBeGreaterThanOrEqual(HISTORIES * 0.05);
    },
    TIMEOUT_MS,
  );

  test(
    "concurrent starts and deletions of one id are linearizable",
    async () => {
      for (let seed = SEED; seed < SEED + HISTORIES / 2; seed += 1) {
        const kinds: readonly CallKind[] = ["start", "deleteInstance", "listInstances"];
        const history = await makeHistory(store.clients, {
          seed: seed + TIMES_MAX * HISTORIES,
          kinds,
        });
        expect(problemOf(history, leases), `PERDURE_SEED=${seed}`).toBeNull();
      }
    },
    TIMEOUT_MS,
  );

  test("every client sees an acknowledged start", async () => {
    const { clients } = store;
    for (let round = 0; round < (IS_FULL ? 200 : 10); round += 1) {
      const id = `seen-${round}`;
      const item = startItem({ id, name: id });
      await clients[round % CLIENTS]?.call({ method: "commit", items: [item] }, STARTS_AT);
      const seen = await Promise.all(
        clients.map(async (client) => {
          const read = await client.call({ method: "readInstance", id }, STARTS_AT);
          const listed = await client.call({ method: "listInstances", name: id }, STARTS_AT);
          return { read: read.answer, listed: listed.answer };
        }),
      );
      const record = { id, runId: item.runId };
      expect(seen).toMatchObject(seen.map(() => ({ read: record, listed: [record] })));
    }
  });
});

interface BrokenStore {
  readonly what: string;
  readonly breakage: BreakageName;
  readonly store: Store;
  readonly kinds: readonly CallKind[];
}
const BROKEN: readonly BrokenStore[] = [
  {
    what: "answers from a stale copy",
    breakage: "answersFromStaleCopy",
    store: SQLITE,
    kinds: ["readInstance", "pause", "resume"],
  },
  {
    what: "checks whether an id is free only before the start",
    breakage: "checksBeforeItStarts",
    store: POSTGRES,
    kinds: ["start", "deleteInstance", "readInstance"],
  },
  {
    what: "ignores the token of a turn",
    breakage: "ignoresTokens",
    store: POSTGRES,
    kinds: ["start", "turn", "releaseInstance", "leaseInstances"],
  },
];

test.each(BROKEN)("a store that $what is detected", async ({ breakage, store, kinds }) => {
  const { clients, close } = await store.open(breakage);
  try {
    for (let seed = SEED; seed < SEED + HISTORIES; seed += 1) {
      const history = await makeHistory(clients, { seed, kinds });
      if (problemOf(history, store.leases) === null) continue;
      console.log(`PERDURE_SEED=${SEED}: found in history ${seed - SEED + 1}`);
      return;
    }
  } finally {
    await close();
  }
  expect.fail(`not found, seed ${SEED}`);
});

/** Null if some order explains all answers. */
function problemOf(history: readonly Made[], leases: Store["leases"]): string | null {
  const steps = asSteps(history, leases);
  const { result, order } = checkHistory(steps, storeModel(STARTS_AT));
  return result === "linearizable" ? null : `${result}:\n${formatOrder(steps, order)}`;
}

async function several(
  open: () => Promise<Client>,
  remove: () => Promise<void>,
): Promise<OpenStore> {
  const first = await open(); // creates the tables
  const others = await Promise.all(Array.from({ length: CLIENTS - 1 }, open));
  const clients = [first, ...others];
  return {
    clients,
    async close() {
      for (const client of clients) await client.close();
      await remove();
    },
  };
}
