// New messages for held instances are found and read without a lock, from one snapshot (provider.instances.4).

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import {
  ALPHA,
  fresh,
  registration,
  startItem,
  TARGETS,
} from "../../../src/testing/conformance/fixture.ts";
import { systemEnvironment } from "../../../src/core/time/system-environment.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

test.each([
  ["is released", "UPDATE instances SET lease_owner = NULL, lease_token = NULL"],
  ["is taken over", "UPDATE instances SET lease_owner = 'another', lease_token = 99"],
  ["loses its messages", "DELETE FROM inbox"],
])(
  "a lease request returns one snapshot, even if the instance %s during the request",
  async (_, change) => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-leases-"));
    const path = join(folder, "store.db");
    const clockReads = { left: Infinity };
    const other = { database: null as DatabaseSync | null };
    const environment = {
      ...systemEnvironment,
      now: () => {
        // The third clock read is between finding and reading.
        if (--clockReads.left === 0) other.database?.exec(change);
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
    const request = () =>
      provider.leaseInstances({
        ...{ owner: ALPHA, token: fresh(), limit: 10, targets: TARGETS },
        ...{ allowSuspect: false, messagesMax: 10 },
      });
    const [taken] = (await request()).instances;
    expect(taken).toMatchObject({ id: "a", fresh: true });
    const news = (await request()).instances;
    expect(news).toMatchObject([{ id: "a", fresh: false, token: taken?.token, messages: [{}] }]);
    clockReads.left = 3;
    expect((await request()).instances).toEqual(news);
    expect(clockReads.left).toBeLessThanOrEqual(0);
    expect((await request()).instances).not.toEqual(news);
  },
);
