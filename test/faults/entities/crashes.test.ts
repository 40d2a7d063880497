// A bank of entities under crashes and errors: money is conserved, every transfer happens exactly once, and every call is
// answered. PERDURE_FULL runs every fault of every call; the commit tier runs fewer.

import { afterAll, describe, expect, test } from "vitest";
import {
  CALL_FAULTS,
  crashEverywhere,
  failEveryCall,
  type CallFault,
  type FailureScenario,
  type TestEnvironment,
} from "../../../src/testing/index.ts";
import { postgresKitStore } from "../../support/postgres-kit-store.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { account, bank, bookFaults, pay, payday, PAYDAY_RESULT, purchase } from "./bank.ts";
import { openCalls } from "./open-calls.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const TIMEOUT_MS = IS_FULL ? 1_800_000 : 120_000;
afterAll(closePool);

interface Store {
  readonly name: string;
  readonly store: { readonly store?: typeof postgresKitStore };
  readonly when: "both" | "after";
  readonly stride: number;
}
const STORES: readonly Store[] = [
  { name: "SQLite", store: {}, when: "both", stride: IS_FULL ? 1 : 9 },
  {
    name: "PostgreSQL",
    store: { store: postgresKitStore },
    when: IS_FULL ? "both" : "after",
    stride: IS_FULL ? 1 : 47,
  },
];

async function checkBank(kit: TestEnvironment): Promise<void> {
  expect([...(await bookFaults(kit)), ...(await openCalls(kit))]).toEqual([]);
}

describe.each(STORES)("$name", ({ store, when, stride }) => {
  test(
    "a crash at every write changes no balance and repeats no booking",
    async () => {
      const { runs } = await crashEverywhere(payday, undefined, {
        ...store,
        when,
        register: bank,
        check: async (kit, handle) => {
          expect(await handle.result()).toEqual(PAYDAY_RESULT);
          await checkBank(kit);
        },
      });
      expect(runs).toBeGreaterThan(20);
    },
    TIMEOUT_MS,
  );

  test(
    "an error at every store call changes no balance and repeats no booking",
    async () => {
      const scenario: FailureScenario = {
        name: "payday",
        options: () => ({ ...store, register: bank }),
        run: async (kit) => {
          const result = await (await kit.start(payday)).result();
          expect(result).toEqual(PAYDAY_RESULT);
          await checkBank(kit);
          return result;
        },
      };
      let runs = 0;
      for (const [index, fault] of (Object.keys(CALL_FAULTS) as CallFault[]).entries()) {
        const first = 1 + (index % stride);
        runs += (await failEveryCall(scenario, { faults: [fault], stride, first })).runs;
      }
      expect(runs).toBeGreaterThan(10);
    },
    TIMEOUT_MS,
  );

  test(
    "a client that crashes and repeats its call with the same request id books once",
    async () => {
      const { runs } = await crashEverywhere(purchase, undefined, {
        ...store,
        when,
        register: [account, pay, purchase],
        check: async (kit, handle) => {
          expect(await handle.result()).toEqual({ "pay deposit": 1 });
          expect(await kit.client.entity(account, "shop").all()).toMatchObject({
            cents: 7,
            booked: { "pay deposit": 1 },
          });
          expect(await openCalls(kit)).toEqual([]);
        },
      });
      expect(runs).toBeGreaterThan(when === "both" ? 10 : 5);
    },
    TIMEOUT_MS,
  );
});
