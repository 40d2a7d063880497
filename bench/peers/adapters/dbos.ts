// DBOS Transact on PostgreSQL.
//   Recommended: its defaults. A pool of 10 connections, `startWorkflow` in the process that runs the workflow,
//   LISTEN/NOTIFY on; `getResult` of a workflow that runs here does not poll.
//   Tuned: a pool of 30, because 500 workflows in flight wait for ten connections; notifications gathered for 1 ms
//   instead of 10; a workflow of an earlier process is polled every 20 ms instead of every second.
//   Streams are written from a step, because a workflow records every write as a step. Reader and writer are two
//   launched applications: only these get notifications of new values, a `DBOSClient` polls. Tuned, a reader that misses
//   a notification polls after 20 ms instead of a second.
//   `applicationVersion` is set, so that a restarted process is the same application whatever its source text.

import { DBOS, type WorkflowHandle } from "@dbos-inc/dbos-sdk";
import type { Token } from "../../tokens.ts";
import type { Adapter, Input } from "../peer.ts";

const TUNED = { systemDatabasePoolSize: 30, notificationCoalesceMs: 1 };
const POLL_MS = 20;
const WAIT_S = 600;
const STREAM = "tokens";

export const adapter: Adapter = {
  async open({ database, tuned }, work) {
    if (database === null) throw new Error("DBOS runs on PostgreSQL.");
    DBOS.setConfig({
      name: "bench",
      systemDatabaseUrl: database.url,
      applicationVersion: "1",
      logLevel: "error",
      ...(tuned ? TUNED : {}),
    });
    const polling = tuned ? { pollingIntervalMs: POLL_MS } : {};
    const step = (id: string, index: number, value: number): Promise<number> =>
      DBOS.runStep(() => work.step(value, { id, index }), { name: "step" });
    const row = async ({ id, n, value }: Input): Promise<number> => {
      for (let i = 0; i < n; i++) value = await step(id, i, value);
      return value;
    };
    const fan = async ({ id, n }: Input): Promise<number> => {
      const steps = Array.from({ length: n }, (_, i) => step(id, i, i));
      return (await Promise.all(steps)).reduce((sum, value) => sum + value, 0);
    };
    const bulk = async ({ n }: Input): Promise<number> => {
      let chars = 0;
      for (let i = 0; i < n; i++) {
        chars += (await DBOS.runStep(async () => work.payload(), { name: "produce" })).length;
      }
      return chars;
    };
    const wait = async ({ id }: Input): Promise<number> => {
      work.waits(id);
      return (await DBOS.recv<number>("go", WAIT_S)) ?? Number.NaN;
    };
    const programs = {
      row: DBOS.registerWorkflow(row, { name: "row" }),
      fan: DBOS.registerWorkflow(fan, { name: "fan" }),
      wait: DBOS.registerWorkflow(wait, { name: "wait" }),
    };
    const produce = async (input: Input): Promise<number> => {
      const write = (token: Token): Promise<void> => DBOS.writeStream(STREAM, token);
      await DBOS.runStep(() => work.produce(input, write), { name: "produce" });
      await DBOS.closeStream(STREAM);
      return input.n;
    };
    const streamWorkflow = DBOS.registerWorkflow(produce, { name: "stream" });
    const bulkWorkflow = DBOS.registerWorkflow(bulk, { name: "bulk" });
    await DBOS.launch();
    const handles = new Map<string, WorkflowHandle<number>>();
    return {
      async start(program, input) {
        const workflowID = input.id;
        handles.set(workflowID, await DBOS.startWorkflow(programs[program], { workflowID })(input));
        return workflowID;
      },
      async startBulk(input) {
        const workflowID = input.id;
        handles.set(workflowID, await DBOS.startWorkflow(bulkWorkflow, { workflowID })(input));
        return workflowID;
      },
      async result(key) {
        const handle = handles.get(key) ?? DBOS.retrieveWorkflow<number>(key);
        return (await handle.getResult(polling)) ?? Number.NaN;
      },
      async signal(key, { value }) {
        await DBOS.send(key, value, "go");
        return true;
      },
      async startStream(input) {
        const workflowID = input.id;
        handles.set(workflowID, await DBOS.startWorkflow(streamWorkflow, { workflowID })(input));
        return workflowID;
      },
      readStream: (key) => DBOS.readStream<Token>(key, STREAM, polling),
      close: () => DBOS.shutdown(),
    };
  },
};
