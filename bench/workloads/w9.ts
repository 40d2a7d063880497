// W9: 200 instances of ten steps are in flight and half-way when their process is killed: until all are done.
//   Restart: from the start of a new process, including its startup. Takeover: from the kill, by a process that was
//   already running. Each has its own store.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { until } from "../measure.ts";
import type { Run, Setting } from "../subject.ts";
import { within } from "../support/open.ts";
import { account, entered, recorded, snapshot, type Account } from "../support/w9-ledger.ts";
import { INSTANCES, startWorker, STEPS, type Worker } from "../support/w9-worker.ts";

const KILL_AFTER = (INSTANCES * STEPS) / 2;

export const run: Run = async (setting) => {
  const restarted = await restart(within(setting, "restart"));
  const takenOver = await takeOver(within(setting, "take-over"));
  const n = INSTANCES;
  assert.equal(restarted.lost + takenOver.lost, 0, "no step is lost");
  assert.equal(restarted.rerunRecorded, 0, "recorded steps do not run again");
  assert(takenOver.rerun <= INSTANCES, "only running steps run again");
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
  const successor = startWorker("finish", setting);
  await checkResults(successor);
  const ms = performance.now() - begun;
  await stop(successor);
  return { ms, ...(await account(setting, { killedPid, before })) };
}

async function takeOver(setting: Setting): Promise<Account & { readonly ms: number }> {
  const successor = startWorker("stand by", setting);
  await successor.ready;
  const killedPid = await killHalfWay(setting);
  const begun = performance.now();
  successor.process.send("finish");
  await checkResults(successor);
  const ms = performance.now() - begun;
  await stop(successor);
  // The steps recorded at the moment of the kill are unknown: the successor writes more at once.
  return { ms, ...(await account(setting, { killedPid, before: [] })) };
}

/** Starts a worker and kills it when half of the steps have run. */
async function killHalfWay(setting: Setting): Promise<number> {
  const victim = startWorker("start", setting);
  await victim.ready;
  const halfWay = (): boolean => entered(setting).length >= KILL_AFTER;
  await until("half of the steps have run", halfWay, { everyMs: 1 });
  const gone = once(victim.process, "exit");
  victim.process.kill("SIGKILL");
  await gone;
  const { pid } = victim.process;
  assert(pid !== undefined);
  return pid;
}

async function checkResults(successor: Worker): Promise<void> {
  const results = await successor.done;
  for (const [i, result] of results.entries()) assert.equal(result, i + STEPS);
  assert.equal(results.length, INSTANCES);
}

async function stop({ process }: Worker): Promise<void> {
  const ended = once(process, "exit");
  process.disconnect();
  await ended;
}
