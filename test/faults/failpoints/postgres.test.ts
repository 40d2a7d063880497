// The failure loop of sqlite.test.ts on PostgreSQL. The commit tier runs two scenarios and every seventh call;
// PERDURE_FULL runs every scenario and every call.

import { afterAll, expect, test } from "vitest";
import type { Environment, Provider } from "../../../src/index.ts";
import { failEveryCall } from "../../../src/testing/index.ts";
import {
  closePool,
  giveBackSchema,
  openOnPool,
  takeSchema,
} from "../../support/postgres-stores.ts";
import { scenariosOn } from "./scenarios.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const STRIDE = IS_FULL ? 1 : 7;
afterAll(closePool);

/** Closing the provider also returns its schema to the pool of schemas. */
async function store(environment: Environment): Promise<Provider> {
  const schema = takeSchema();
  const provider = await openOnPool(schema, { environment });
  const close = async (): Promise<void> => {
    await provider.close();
    await giveBackSchema(schema);
  };
  return new Proxy<Provider>(provider, {
    get(target, name) {
      if (name === "close") return close;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

for (const scenario of scenariosOn(store).slice(0, IS_FULL ? undefined : 2)) {
  test(
    `${scenario.name}: the outcome stays the same whichever store call fails, and however it fails`,
    { timeout: 600_000 },
    async () => {
      const { runs } = await failEveryCall(scenario, { stride: STRIDE });
      expect(runs).toBeGreaterThan(10);
    },
  );
}
