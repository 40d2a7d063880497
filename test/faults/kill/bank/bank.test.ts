// The bank under kills: money moves exactly once because every activity passes its idempotency key to the ledger.

import { expect, test } from "vitest";
import { seedFromEnvironment, wholeNumber } from "../chance.ts";
import { STORE_KINDS } from "../stores.ts";
import { bankEmptiness, describeBank, runBank } from "./bank-run.ts";

const TRANSFERS =
  wholeNumber("PERDURE_TRANSFERS") ?? (process.env["PERDURE_FULL"] === "1" ? 5_000 : 100);
const SEED = seedFromEnvironment();

test.each(STORE_KINDS)(
  `${TRANSFERS} transfers on %s keep every cent under kills, and would lose or double money without idempotency keys`,
  { timeout: 120_000 + TRANSFERS * 200 },
  async (store) => {
    const report = await runBank({ store, transfers: TRANSFERS, seed: SEED, workers: 4 });
    console.log(`PERDURE_SEED=${SEED}\n${describeBank(report)}`);
    expect(report.faults).toEqual([]);
    expect(bankEmptiness(report)).toEqual([]);
  },
);
