// W16: jobs that do nothing, with default options. ../jobs.ts has the load and the counting.
//   A runtime starts once, so every start of the worker is a new runtime on the same store.

import { strict as assert } from "node:assert";
import { Client, job, Runtime } from "../../src/index.ts";
import { measureJobs } from "../jobs.ts";
import type { Run } from "../subject.ts";
import { openProvider, QUIET } from "../support/open.ts";

const NAME = "noop";

export const run: Run = (setting) =>
  measureJobs(setting, async (_, handler) => {
    const provider = await openProvider(setting);
    const client = new Client(provider);
    const noop = job(NAME, (value: number) => handler(value), { keep: { completed: "1h" } });
    let runtime: Runtime | null = null;
    return {
      async enqueue(value) {
        await client.enqueue(noop, value);
      },
      async enqueueMany(values) {
        const ids = await client.enqueueMany(noop, values);
        assert.equal(new Set(ids).size, values.length, "every job has its own id");
      },
      async startWorker() {
        runtime = new Runtime(provider, { ...QUIET, register: [noop] });
        await runtime.start();
      },
      async stopWorker() {
        await runtime?.shutdown();
        assertUntroubled(runtime);
      },
      countOpen: async () =>
        (await client.count({ name: NAME })) -
        (await client.count({ name: NAME, status: "completed" })),
      close: () => provider.close(),
    };
  });

/** Nothing failed, nothing was refused, nothing ran twice. */
function assertUntroubled(runtime: Runtime | null): void {
  const stats = runtime?.stats();
  assert.ok(stats !== undefined, "the worker was started");
  assert.equal(stats.refusedTurns, 0, "no turn was refused");
  assert.equal(stats.providerErrors, 0, "the store had no trouble");
  assert.equal(stats.activities.failed + stats.activities.retried, 0, "no job failed");
}
