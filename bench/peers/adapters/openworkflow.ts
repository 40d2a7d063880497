// OpenWorkflow on SQLite and on PostgreSQL.
//   Recommended: a worker with the concurrency that its documentation suggests as a start, 10, which polls by itself
//   (100 ms, doubled up to 1 s while it finds nothing), and `handle.result()`, which polls once per second. Neither
//   interval can be set.
//   Tuned: `worker.tick()`, which is public, called again at once while it finds work and every 5 ms while it finds
//   none; results polled from the backend every 5 ms, the oldest first. A tick queries the store once per free slot, so
//   many slots are good for many runs and bad for one: 100 or 2.
//   SQLite: OpenWorkflow sets WAL itself; `synchronous` stays at SQLite's default, FULL, as in Perdure.
//   PostgreSQL: postgres.js' pool of 10; `connect` has no option for it.
//   A run may have 1,000 steps. A signal that no run waits for is lost, and `sendSignal` reports it. A signal that
//   arrives between the recording of the wait and the parking of its run does not wake the run before the wait's
//   timeout. Therefore an instance of `wait` reports that it waits only when it has been parked.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { OpenWorkflow, type Worker } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import { BackendSqlite } from "openworkflow/sqlite";
import { oldestFirst } from "../oldest-first.ts";
import type { Adapter, Input, Place } from "../peer.ts";

type Backend = BackendPostgres | BackendSqlite;

const RECOMMENDED_CONCURRENCY = 10;
const TUNED_CONCURRENCY = { many: 100, one: 2 } as const;
const POLL_MS = 5;

export const adapter: Adapter = {
  async open(place, work) {
    const backend = await connect(place);
    const client = new OpenWorkflow({ backend });
    const row = client.defineWorkflow<Input, number>({ name: "row" }, async ({ input, step }) => {
      let { value } = input;
      for (let i = 0; i < input.n; i++) {
        const before = value;
        value = await step.run({ name: `step-${i}` }, () =>
          work.step(before, { id: input.id, index: i }),
        );
      }
      return value;
    });
    const fan = client.defineWorkflow<Input, number>({ name: "fan" }, async ({ input, step }) => {
      const steps = Array.from({ length: input.n }, (_, i) =>
        step.run({ name: `step-${i}` }, () => work.step(i, { id: input.id, index: i })),
      );
      return (await Promise.all(steps)).reduce((sum, value) => sum + value, 0);
    });
    const wait = client.defineWorkflow<Input, number>({ name: "wait" }, async ({ input, step }) => {
      const signal = await step.waitForSignal<number>({ signal: input.id, timeout: "10m" });
      return signal?.data ?? Number.NaN;
    });
    const programs = { row, fan, wait };
    const concurrency = place.tuned ? TUNED_CONCURRENCY[place.load] : RECOMMENDED_CONCURRENCY;
    const worker = client.newWorker({ concurrency });
    const stop = await run(worker, place);

    const handles = new Map<string, { result(): Promise<number> }>();
    const look = async (workflowRunId: string): Promise<number | undefined> => {
      const found = await backend.getWorkflowRun({ workflowRunId });
      if (found?.status === "failed" || found?.status === "canceled") {
        throw new Error(`A run ended as ${found.status}: ${JSON.stringify(found.error)}`);
      }
      return found?.status === "completed" ? Number(found.output) : undefined;
    };
    const result = oldestFirst(look, POLL_MS);
    return {
      async start(program, input) {
        const handle = await programs[program].run(input);
        const { id } = handle.workflowRun;
        if (!place.tuned) handles.set(id, handle);
        if (program === "wait") void parked(backend, id).then(() => work.waits(input.id));
        return id;
      },
      result: (key) => handles.get(key)?.result() ?? result(key),
      async signal(_, { id, value }) {
        const { workflowRunIds } = await client.sendSignal({ signal: id, data: value });
        return workflowRunIds.length > 0;
      },
      async close() {
        await stop();
        await backend.stop();
      },
    };
  },
};

async function connect({ database, directory }: Place): Promise<Backend> {
  if (database === null) return BackendSqlite.connect(join(directory, "openworkflow.db"));
  return BackendPostgres.connect(database.url);
}

/** Resolves when the run has been parked until its signal arrives. */
async function parked(backend: Backend, workflowRunId: string): Promise<void> {
  for (;;) {
    const run = await backend.getWorkflowRun({ workflowRunId });
    const { availableAt = null, workerId = null } = run ?? {};
    if (workerId === null && Number(availableAt) > Date.now()) return;
    await pause(POLL_MS);
  }
}

/** Returns the function that stops the worker. */
async function run(worker: Worker, { tuned }: Place): Promise<() => Promise<void>> {
  if (!tuned) {
    await worker.start();
    return () => worker.stop();
  }
  let running = true;
  const loop = (async () => {
    while (running) if ((await worker.tick()) === 0) await pause(POLL_MS);
  })();
  return async () => {
    running = false;
    await loop;
    await worker.stop(); // waits for running steps
  };
}
