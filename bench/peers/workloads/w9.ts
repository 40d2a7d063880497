// W9 for peers: 200 instances of ten steps are in flight and half-way when their process is killed. Measured until all
// are done in a new process, including its startup. A peer's own server keeps running, as a database server would.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { until } from "../../measure.ts";
import type { Place } from "../peer.ts";
import { withServer, type PeerRun } from "../run.ts";
import { INSTANCES, logOf, startWorker, STEPS, type Worker } from "./w9-worker.ts";

const KILL_AFTER = (INSTANCES * STEPS) / 2;

export const run: PeerRun = (order) =>
  withServer(order, "many", async (place) => {
    const { peer } = order;
    const keys = await killHalfWay(startWorker({ peer, place, keys: null }), place);
    const begun = performance.now();
    const successor = startWorker({ peer, place, keys });
    const results = await successor.done;
    const ms = performance.now() - begun;
    for (const [i, result] of results.entries()) assert.equal(result, i + STEPS);
    assert.equal(results.length, INSTANCES, "no instance is lost");
    const ended = once(successor.process, "exit");
    successor.process.disconnect();
    await ended;
    const runs = entered(place);
    const n = INSTANCES;
    const distinct = new Set(runs).size;
    return [
      { metric: "restartMs", value: ms, n },
      { metric: "lost", value: INSTANCES * STEPS - distinct, n },
      { metric: "rerun", value: runs.length - distinct, n },
    ];
  });

/** Returns the keys of the instances. */
async function killHalfWay(victim: Worker, place: Place): Promise<readonly string[]> {
  const keys = await victim.started;
  await until("half of the steps have been started", () => entered(place).length >= KILL_AFTER, {
    timeoutMs: 120_000,
  });
  const gone = once(victim.process, "exit");
  victim.process.kill("SIGKILL");
  await gone;
  return keys;
}

/** Every step run, in order. */
function entered(place: Place): readonly string[] {
  const log = logOf(place);
  return existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : [];
}
