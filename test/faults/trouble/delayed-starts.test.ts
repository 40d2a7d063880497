// A delayed start on a slow store: the runtime that wrote it polls when it is due (local-starts.3).

import { expect, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { wrapProvider } from "./wrapped-provider.ts";

test("a start with a delay that is shorter than its commit begins after the commit, not at the next poll", async () => {
  const environment = new VirtualEnvironment();
  const store = await SqliteProvider.open(":memory:", { environment });
  const provider = wrapProvider(store, {
    async commit(items) {
      const isStart = items.some(({ kind }) => kind === "start");
      if (isStart) await new Promise<void>((resolve) => void environment.setTimer(100, resolve));
      return store.commit(items);
    },
  });
  const soon = orchestration("soon", async () => "done");
  const runtime = { log: () => undefined, pollIntervalMs: 60_000 };
  const perdure = await Perdure.open(provider, { register: [soon], runtime });
  const started = perdure.client.start(soon, undefined, { delay: 20 });
  await environment.advance(200);
  expect(await (await started).result({ timeout: 0 })).toBe("done");
  await perdure.close();
  await store.close();
});
