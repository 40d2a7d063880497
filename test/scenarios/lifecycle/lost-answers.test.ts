// A commit reaches the store, but its reply is lost. The runtime must find out whether the commit was written, also if
// another runtime has committed since (I14).

import { expect, test } from "vitest";
import { activity, orchestration, Perdure, PerdureError } from "../../../src/index.ts";
import { StoreEnvironment } from "../../support/store-environment.ts";
import { freshStore } from "../../support/test-store.ts";
import { wrapProvider } from "../../faults/trouble/wrapped-provider.ts";

const QUIET = { log: () => undefined, beatMs: 1_000, pollIntervalMs: 1_000 } as const;

test("a task runs although the reply to its commit was lost and another runtime committed since", async () => {
  const environment = new StoreEnvironment();
  const store = await freshStore(environment);
  const written = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  let isCut = false;
  const lost = (): PerdureError => new PerdureError("STORE_UNAVAILABLE", "the reply was lost");
  const provider = wrapProvider(store, {
    leaseInstances: (request) => (isCut ? Promise.reject(lost()) : store.leaseInstances(request)),
    async commit(items) {
      const results = await store.commit(items);
      const isTurn = items.some((item) => item.kind === "turn" && item.tasks.length > 0);
      if (!isFirst || !isTurn) return results;
      isFirst = false;
      isCut = true;
      written.resolve();
      await gate.promise;
      isCut = false;
      throw lost();
    },
  });
  let runs = 0;
  const work = activity("work", async () => ++runs);
  const both = orchestration("both", async (ctx) => ctx.all([ctx.run(work), ctx.sleep(1_000)]));
  const runtime = { ...QUIET, stickyCacheMax: 0 };
  const first = await Perdure.open(provider, { register: [both, work], runtime });
  const handle = await first.client.start(both);
  await environment.settle();
  await written.promise;
  const second = await Perdure.open(wrapProvider(store, {}), { register: [both], runtime });
  await environment.advance(5_000); // the timer fires in the second runtime, so the row now names another commit
  expect((await handle.history()).map(({ kind }) => kind)).toContain("TimerFired");
  gate.resolve();
  await environment.advance(10_000);
  expect(await handle.result({ timeout: 0 })).toEqual([1, undefined]);
  expect(runs).toBe(1);
  await first.close();
  await second.close();
});
