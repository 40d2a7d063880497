// W9: 200 instances of ten steps are in flight and half-way when their process is killed: until all are done.
//   Restart: from starting a new process, its own start included. Take-over: from the kill, by a process that was
//   running before. Each on a store of its own.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { until } from "../measure.ts";
import type { Run, Setting } from "../subject.ts";
import { within } from "./open.ts";
import { account, entered, recorded, snapshot, type Account } from "./w9-ledger.ts";
import { INSTANCES, startWorker, STEPS, type Worker } from "./w9-worker.ts";

const KILL_AFTER = (INSTANCES * STEPS) / 2;

export const run: Run = async (setting) => {
  const restarted = await restart(within(setting, "restart"));
  const takenOver = await takeOver(within(setting, "take-over"));
  const n = INSTANCES;
  assert.equal(restarted.lost + takenOver.lost, 0, "no step is lost");
  assert.equal(restarted.rerunRecorded, 0, "what was recorded is not run again");
  assert(takenOver.rerun <= INSTANCES, "only what was running is run again");
  return [
    { metric: "restartMs", value: restarted.ms, n },
    { metric: "takeOverMs", value: takenOver.ms, n },
    { metric: "lost", value: restarted.lost + takenOver.lost, n },
    { metric: "rerun", value: restarted.rerun, n },
    { metric: "rerunRecorded", value: restarted.rerunRecorded, n },
  ];
};

async function restart(setting: Setting): Promise<Account & { readonly ms: number }> {
  const killedPid = await killHalfWay(setting);
  const before = await recorded(snapshot(setting));
  const begun = performance.now();
  const heir = startWorker("finish", setting);
  await checkResults(heir);
  const ms = performance.now() - begun;
  await letGo(heir);
  return { ms, ...(await account(setting, { killedPid, before })) };
}

async function takeOver(setting: Setting): Promise<Account & { readonly ms: number }> {
  const heir = startWorker("stand by", setting);
  await heir.ready;
  const killedPid = await killHalfWay(setting);
  const begun = performance.now();
  heir.process.send("finish");
  await checkResults(heir);
  const ms = performance.now() - begun;
  await letGo(heir);
  // Nobody can tell what was recorded at the kill: the heir writes on at once.
  return { ms, ...(await account(setting, { killedPid, before: [] })) };
}

/** Starts a worker and kills it when half of the steps have been entered. */
async function killHalfWay(setting: Setting): Promise<number> {
  const victim = startWorker("start", setting);
  await victim.ready;
  const halfWay = (): boolean => entered(setting).length >= KILL_AFTER;
  await until("half of the steps have been entered", halfWay, { everyMs: 1 });
  const gone = once(victim.process, "exit");
  victim.process.kill("SIGKILL");
  await gone;
  const { pid } = victim.process;
  assert(pid !== undefined);
  return pid;
}

async function checkResults(heir: Worker): Promise<void> {
  const results = await heir.done;
  for (const [i, result] of results.entries()) assert.equal(result, i + STEPS);
  assert.equal(results.length, INSTANCES);
}

async function letGo({ process }: Worker): Promise<void> {
  const ended = once(process, "exit");
  process.disconnect();
  await ended;
}
