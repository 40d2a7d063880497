// Streams and callbacks under crashes: whichever write is the last one of a process, readers get every value once, and
// every callback delivers one value. PERDURE_FULL crashes before and after every write, on both stores.

import { afterAll, expect, test } from "vitest";
import { crashEverywhere } from "../../../src/testing/index.ts";
import { postgresKitStore } from "../../support/postgres-kit-store.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { answer, auditOf, streamed, STREAMED, studio } from "./streamed.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const STORES = [
  { name: "SQLite", store: {} },
  ...(IS_FULL ? [{ name: "PostgreSQL", store: { store: postgresKitStore } }] : []),
];
afterAll(closePool);

test.each(STORES)(
  "$name: a crash at every write leaves each value in the stream once and completes each callback once",
  { timeout: 600_000 },
  async ({ store }) => {
    const { runs, writes } = await crashEverywhere(studio, 1, {
      ...store,
      when: IS_FULL ? "both" : "after",
      register: streamed,
      scenario: answer,
      check: async (_, handle) => expect(await auditOf(handle)).toEqual(STREAMED),
    });
    expect(runs).toBeGreaterThan(20);
    for (const part of ["an append", "defer", "CallbackCreated"])
      expect(writes.filter((write) => write.includes(part))).not.toEqual([]);
  },
);
