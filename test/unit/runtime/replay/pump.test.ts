// The pump does not keep finished jobs in memory.

import { expect, test } from "vitest";
import { heapInUse } from "../../../support/garbage.ts";
import type { Run } from "../../../../src/core/replay/run.ts";
import { systemEnvironment } from "../../../../src/core/time/system-environment.ts";
import { Pump, type DrainJob } from "../../../../src/runtime/replay/pump.ts";

/** A job of one delivery. The pump only passes its run on. */
function oneDelivery(): DrainJob {
  const run = {} as Run;
  const identity = { run, label: "job", name: "job", isLarge: false };
  return { ...identity, certain: 0, step: () => undefined, after: () => false };
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

/** A job that records its delivery. */
function recorded(name: string, isLarge: boolean, log: string[]): DrainJob {
  return { ...oneDelivery(), name, isLarge, step: () => void log.push(name) };
}

test("PU5: a job does not wait behind all jobs of another orchestration", async () => {
  const idle = Promise.withResolvers<void>();
  const options = { environment: systemEnvironment, entering: () => undefined };
  const pump = new Pump({ ...options, onIdle: idle.resolve });
  const log: string[] = [];
  for (let i = 0; i < 50; i++) pump.add(recorded("many", false, log));
  pump.add(recorded("one", false, log));
  await idle.promise;
  expect(log).toHaveLength(51);
  expect(log.indexOf("one")).toBe(1);
});

test("PU6: large jobs wait until the committer has caught up; short jobs do not", async () => {
  let idle = Promise.withResolvers<void>();
  let isAhead = true;
  const options = { environment: systemEnvironment, entering: () => undefined };
  const pump = new Pump({
    ...options,
    onIdle: () => idle.resolve(),
    mayBeginLarge: () => !isAhead,
  });
  const log: string[] = [];
  for (let i = 0; i < 3; i++) pump.add(recorded("large", true, log));
  pump.add(recorded("short", false, log));
  await idle.promise;
  expect(log).toEqual(["short"]);
  expect(pump.isIdle).toBe(false);
  idle = Promise.withResolvers<void>();
  isAhead = false;
  pump.resume();
  await idle.promise;
  expect(log).toEqual(["short", "large", "large", "large"]);
  expect(pump.isIdle).toBe(true);
});

test("PU7: after a release large jobs are not held back", async () => {
  const idle = Promise.withResolvers<void>();
  const options = { environment: systemEnvironment, entering: () => undefined };
  const pump = new Pump({ ...options, onIdle: idle.resolve, mayBeginLarge: () => false });
  const log: string[] = [];
  pump.add(recorded("large", true, log));
  pump.release();
  await idle.promise;
  expect(log).toEqual(["large"]);
});
