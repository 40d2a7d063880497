// A worker process that holds its work: an activity or step stays in flight for as long as a test wants.
//   Arguments: the store's address, the run log, the runtime's options as JSON, the worker's name, and "drives" for a worker
//   that does not run all the time.
//   The parent process sends "open": all held work finishes, and later work is not held;
//   or "block <file>": the same once that file exists. Until then the main loop is blocked, so the held work finishes
//   before the worker processes any message from the store;
//   or "drive <ms>": drives once, as a function that is invoked, and acknowledges the end as "driven";
//   or "drive on": drives whenever something comes due, as a function with a scheduler;
//   or "start <id> <ms>": starts a sleeping instance through this worker's client. The instance belongs to this worker
//   and is written after all writes that were queued before.

import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type RuntimeOptions,
  type StepContext,
} from "../../../src/index.ts";
import { RunLog, type RunLine } from "./audit/run-log.ts";
import { openAddress } from "./store-address.ts";

const [store = "", logPath = "", options = "{}", worker = "", kind] = process.argv.slice(2);
process.on("disconnect", () => process.exit());

const log = new RunLog(logPath);
const gate = Promise.withResolvers<void>();
// Held work is only a promise, and the engine does not keep a process alive.
const keepAlive = setInterval(() => undefined, 60_000);

/** Returns the name of the worker that ran it. */
async function held(entry: Omit<RunLine, "what" | "pid" | "at">): Promise<string> {
  log.append({ what: "begin", ...entry });
  await gate.promise;
  log.append({ what: "end", ...entry });
  return worker;
}

const hold = activity("hold", (_: undefined, { attempt, idempotencyKey: key, info }) =>
  held({ kind: "activity", name: "hold", instance: info.instanceId, key, attempt }),
);
const quick = activity("quick", () => worker);
const go = event("go");

const holdsActivity = orchestration("holds-activity", async (ctx) => {
  return [await ctx.run(hold), await ctx.run(quick)];
});
const holdsStep = orchestration("holds-step", async (ctx) => {
  const instance = ctx.info.instanceId;
  const step = ({ attempt, idempotencyKey: key }: StepContext): Promise<string> =>
    held({ kind: "step", name: "hold", instance, key, attempt });
  return [await ctx.step("hold", step), await ctx.run(quick)];
});
const waits = orchestration("waits", async (ctx) => {
  await ctx.waitFor(go);
  return ctx.run(quick);
});
const sleeps = orchestration("sleeps", async (ctx, ms: number) => {
  await ctx.sleep(ms);
  return ctx.run(quick);
});

const runtime: RuntimeOptions = {
  ...(JSON.parse(options) as RuntimeOptions), // from fleet.ts
  log: (level, message, fields) => log.append({ what: "engine", level, message, fields }),
};
const register = [hold, quick, holdsActivity, holdsStep, waits, sleeps];
const autoStart = kind !== "drives";
const perdure = await Perdure.open(await openAddress(store), { register, runtime, autoStart });
const { client } = perdure;

async function driveOn(): Promise<void> {
  for (;;) {
    const { nextAt } = await perdure.drive({ maxMs: 60_000 });
    if (nextAt === null) return;
    await pause(Math.max(nextAt.getTime() - Date.now(), 0));
  }
}

process.on("message", (message) => {
  const [verb, id = "", ms] = String(message).split(" ");
  if (verb === "block") {
    log.append({ what: "ack", instance: id, job: 0 });
    while (!existsSync(id)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
  if (verb === "open" || verb === "block") {
    gate.resolve();
    clearInterval(keepAlive);
  }
  const acknowledge = (): void => log.append({ what: "ack", instance: id, job: 0 });
  if (verb === "drive" && id === "on") void driveOn();
  else if (verb === "drive") {
    const driven = (): void => log.append({ what: "ack", instance: "driven", job: 0 });
    void perdure.drive({ maxMs: Number(id) }).then(driven);
  }
  if (verb === "start") {
    void client.start(sleeps, Number(ms), { id }).then(acknowledge);
  }
});
process.send?.("ready");
