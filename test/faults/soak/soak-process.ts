// One process of the soak: a worker and a client on one store. Starts mixed instances until the time is over, and reports
// a sample of its memory and resources per interval.
//   Arguments: the address of the store, instances at a time, milliseconds per interval, milliseconds in total.

import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { Perdure } from "../../../src/index.ts";
import { heapInUse } from "../../support/garbage.ts";
import { openAddress } from "../kill/store-address.ts";
import type { ProcessReport, ProcessSample } from "./samples.ts";
import { runMixed, SOAK_WORK } from "./workload.ts";

/** Without retention the tables would grow by design. */
const RETENTION = { completed: "20s", failed: "20s", cancelled: "20s" } as const;

const [address = "", ...numbers] = process.argv.slice(2);
const [atOnce = 1, everyMs = 1_000, totalMs = 1_000] = numbers.map(Number);

const wrong: string[] = [];
let finished = 0;
const endsAt = performance.now() + totalMs;
const isOver = (): boolean => performance.now() >= endsAt;

const provider = await openAddress(address);
const perdure = await Perdure.open(provider, {
  register: SOAK_WORK,
  runtime: { retention: RETENTION },
});
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
await Promise.all([report(), ...Array.from({ length: atOnce }, () => work())]);
await perdure.close();
await provider.close();
process.disconnect();

async function work(): Promise<void> {
  while (!isOver()) {
    const fault = await runMixed(perdure, Math.random);
    if (fault !== null) wrong.push(fault);
    finished++;
  }
}

async function report(): Promise<void> {
  while (!isOver()) {
    await pause(everyMs);
    const loopP99Ms = loop.percentile(99) / 1e6;
    const message: ProcessReport = {
      sample: await takeSample(),
      finished,
      wrong: wrong.splice(0),
      loopP99Ms,
    };
    loop.reset();
    process.send?.(message);
  }
}

async function takeSample(): Promise<ProcessSample> {
  return {
    heapBytes: await heapInUse(),
    residentBytes: process.memoryUsage.rss(),
    resources: process.getActiveResourcesInfo().length,
    descriptors: process.platform === "linux" ? readdirSync("/proc/self/fd").length : null,
  };
}
