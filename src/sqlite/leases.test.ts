// News for instances that are held, found and read without a lock: what changes in between is another's doing.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { ALPHA, fresh, registration, startItem, TARGETS } from "../testing/conformance/fixture.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { SqliteProvider } from "./index.ts";

test.each([
  ["let go", "lease_owner = NULL, lease_token = NULL"],
  ["taken over", "lease_owner = 'another', lease_token = 99"],
])("an instance that is %s after it was found is no news for who held it", async (_, lease) => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-leases-"));
  const path = join(folder, "store.db");
  const looks = { left: Infinity };
  const other = { database: null as DatabaseSync | null };
  const environment = {
    ...systemEnvironment,
    now: () => {
      // The second look at the clock is between finding and reading.
      if (--looks.left === 0) other.database?.exec(`UPDATE instances SET ${lease}`);
      return systemEnvironment.now();
    },
  };
  const provider = await SqliteProvider.open(path, { environment });
  other.database = new DatabaseSync(path);
  onTestFinished(async () => {
    other.database?.close();
    await provider.close();
    rmSync(folder, { recursive: true });
  });
  await provider.registerRuntime(registration({ id: ALPHA }));
  await provider.commit([startItem({ id: "a" })]);
  const ask = () =>
    provider.leaseInstances({
      ...{ owner: ALPHA, token: fresh(), limit: 10, targets: TARGETS },
      ...{ allowSuspect: false, messagesMax: 10 },
    });
  const [taken] = (await ask()).instances;
  expect(taken).toMatchObject({ id: "a", fresh: true });
  expect((await ask()).instances).toMatchObject([{ id: "a", fresh: false, token: taken?.token }]);
  looks.left = 2;
  expect((await ask()).instances).toEqual([]);
  expect(looks.left).toBeLessThanOrEqual(0);
});
