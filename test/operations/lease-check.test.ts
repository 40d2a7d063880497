// The comparison of leases with the store knows the tasks that a reply of the store is bringing to this worker
// (lease-check.1). Here it is an activity that completes later and has timed out: it is never in memory.

import { expect, onTestFinished, test } from "vitest";
import { activity, Client, orchestration, Runtime } from "../../src/index.ts";
import { StoreEnvironment } from "../support/store-environment.ts";
import { newPlace } from "../support/test-store.ts";

/** Shortly before a worker compares its leases. */
const TIMEOUT_MS = 290_000;
const COMPARED_AFTER_MS = 400_000;

test("a comparison of leases does not release a task that is on its way to the worker", async () => {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const environment = new StoreEnvironment();
  const store = await place.open(environment);
  onTestFinished(() => store.close());

  const { promise: isOver, resolve: arrive } = Promise.withResolvers<null>();
  const leaseTasks = store.leaseTasks.bind(store);
  store.leaseTasks = async (request) => {
    const answer = await leaseTasks(request);
    if (answer.tasks.length > 0) await isOver;
    return answer;
  };
  let comparisons = 0;
  const readLeases = store.readLeases.bind(store);
  store.readLeases = async (owner) => {
    const leases = await readLeases(owner);
    if (leases.tasks.length > 0) comparisons++;
    return leases;
  };

  const asked = activity(
    "asked",
    (_: null, { completeLater }): Promise<null> => {
      completeLater();
      return Promise.resolve(null);
    },
    { timeout: TIMEOUT_MS, attempts: 1 },
  );
  const form = orchestration("form", async (ctx) => {
    const [answer] = await Promise.allSettled([ctx.run(asked, null)]);
    return answer.status;
  });
  const logs: string[] = [];
  const runtime = new Runtime(store, {
    ...{ pollIntervalMs: 15_000, beatMs: 15_000, register: [form, asked] },
    callbacks: { secrets: ["a-secret-of-at-least-32-bytes-for-tests"], baseUrl: "http://host" },
    log: (_level, message) => void logs.push(message),
  });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  const handle = await new Client(store).start(form);
  await environment.settle();

  await environment.advance(COMPARED_AFTER_MS);
  expect(comparisons).toBeGreaterThan(0);
  expect(logs).toEqual([]);
  arrive(null);
  await environment.settle();
  expect((await handle.describe()).output).toBe("rejected");
  expect(logs).toEqual([expect.stringContaining("attempt 1 of 1 failed")]);
  expect(runtime.stats().leasesReleased).toBe(0);
});
