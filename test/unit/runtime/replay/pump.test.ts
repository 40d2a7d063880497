// The pump does not keep finished jobs in memory.

import { expect, test } from "vitest";
import { heapInUse } from "../../../support/garbage.ts";
import type { Run } from "../../../../src/core/replay/run.ts";
import { systemEnvironment } from "../../../../src/core/time/system-environment.ts";
import { Pump, type DrainJob } from "../../../../src/runtime/replay/pump.ts";

/** A job of one delivery. The pump only passes its run on. */
function oneDelivery(): DrainJob {
  const run = {} as Run;
  return { run, label: "job", certain: 0, step: () => undefined, after: () => false };
}

/** Adds jobs and lets the pump finish them. */
async function finished(count: number): Promise<{ pump: Pump; jobs: WeakRef<DrainJob>[] }> {
  const idle = Promise.withResolvers<void>();
  const options = { environment: systemEnvironment, entering: () => undefined };
  const pump = new Pump({ ...options, onIdle: idle.resolve });
  const jobs = Array.from({ length: count }, () => {
    const job = oneDelivery();
    pump.add(job);
    return new WeakRef(job);
  });
  await idle.promise;
  return { pump, jobs };
}

test("PU4: finished jobs can be garbage-collected while the pump is in use", async () => {
  const { pump, jobs } = await finished(100);
  await heapInUse();
  expect(jobs.filter((job) => job.deref() !== undefined)).toHaveLength(0);
  expect(pump.isIdle).toBe(true);
});
