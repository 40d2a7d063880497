// News for instances that are held, found and read without a lock: all of it is of one moment (N4).

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { ALPHA, fresh, registration, startItem, TARGETS } from "../testing/conformance/fixture.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { SqliteProvider } from "./index.ts";

test.each([
  ["let go", "UPDATE instances SET lease_owner = NULL, lease_token = NULL"],
  ["taken over", "UPDATE instances SET lease_owner = 'another', lease_token = 99"],
  ["rid of its messages", "DELETE FROM inbox"],
])(
  "what is handed over is of one moment, though the instance is %s meanwhile",
  async (_, change) => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-leases-"));
    const path = join(folder, "store.db");
    const looks = { left: Infinity };
    const other = { database: null as DatabaseSync | null };
    const environment = {
      ...systemEnvironment,
      now: () => {
        // The third look at the clock is between finding and reading.
        if (--looks.left === 0) other.database?.exec(change);
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
    const news = (await ask()).instances;
    expect(news).toMatchObject([{ id: "a", fresh: false, token: taken?.token, messages: [{}] }]);
    looks.left = 3;
    expect((await ask()).instances).toEqual(news);
    expect(looks.left).toBeLessThanOrEqual(0);
    expect((await ask()).instances).not.toEqual(news);
  },
);
