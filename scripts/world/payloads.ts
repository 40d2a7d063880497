// A mix of payloads.
//   Does: instances with payloads from 1 byte to 1 MB run concurrently on one worker, evenly spread over the orders of
//        magnitude: activities, steps, children, events, timers and continueAsNew.
//   Measures: the time from start to result of small instances (up to 1 kB) and large ones (from 100 kB), and of small ones
//        that run without large ones; the delay of the event loop.
//   Fails: a result is wrong, or an instance is stuck.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { median } from "../../bench/statistics.ts";
import { Perdure } from "../../src/index.ts";
import { openAddress } from "../../test/faults/kill/store-address.ts";
import { STORE_KINDS, storeUnderTest } from "../../test/faults/kill/stores.ts";
import { runMixed, SOAK_WORK } from "../../test/faults/soak/workload.ts";
import {
  floor,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";

const INSTANCES = 240;
const AT_ONCE = 8;
const BYTES_MAX = 1_000_000;
const SMALL_MAX = 1_000;
const LARGE_MIN = 100_000;

export const payloads: Programme = {
  name: "payloads",
  what: "payloads from 1 byte to 1 MB on one worker",
  stores: STORE_KINDS,
  obstacle: () => null,
  run,
};

interface Ran {
  /** The exponent of its size: 0 for 1 byte, 1 for 1 MB. */
  readonly share: number;
  readonly ms: number;
  readonly wrong: string | null;
}

async function run({ store: kind, size, folder }: Setting): Promise<Finding> {
  const count = scaled(INSTANCES, size, 24);
  await using store = await storeUnderTest(kind, folder);
  const provider = await openAddress(store.address);
  const perdure = await Perdure.open(provider, {
    register: SOAK_WORK,
    runtime: { log: () => undefined },
  });
  try {
    const smallShare = Math.log(SMALL_MAX) / Math.log(BYTES_MAX);
    const alone = await runAll(
      perdure,
      spread(Math.ceil(count / 2)).map((share) => share * smallShare),
    );
    const loop = monitorEventLoopDelay({ resolution: 5 });
    loop.enable();
    const mixed = await runAll(perdure, spread(count));
    loop.disable();
    const times = (from: number, to: number): readonly number[] =>
      mixed.filter(({ share }) => from <= share && share <= to).map(({ ms }) => ms);
    const smallMs = median(times(0, smallShare));
    const largeMs = median(times(Math.log(LARGE_MIN) / Math.log(BYTES_MAX), 1));
    const aloneMs = median(alone.map(({ ms }) => ms));
    const loopMs = loop.percentile(99) / 1e6;
    const wrong = [...alone, ...mixed].flatMap((one) => one.wrong ?? []);
    const biggest = Math.max(...mixed.map(({ share }) => share));
    return {
      figure: `${mixed.length} instances of 1 B to 1 MB, ${wrong.length} wrong; median time of an instance up to 1 kB ${seconds(smallMs)} (${seconds(aloneMs)} without large ones), from 100 kB ${seconds(largeMs)}; event loop p99 ${seconds(loopMs)}`,
      numbers: { instances: mixed.length, wrong: wrong.length, smallMs, largeMs, aloneMs, loopMs },
      rules: [
        floor("bytes of the largest payload", BYTES_MAX ** biggest, BYTES_MAX),
        rule("every instance ended with its result", wrong),
      ],
    };
  } finally {
    await perdure.close({ graceMs: 0 });
    await provider.close();
  }
}

/** Numbers from 0 to 1, evenly spread, in an order that mixes them. */
function spread(count: number): readonly number[] {
  const shares = Array.from({ length: count }, (_, n) => n / (count - 1));
  return shares.toSorted((a, b) => mixed(a) - mixed(b));
}

function mixed(share: number): number {
  return (share * 1_000 * Math.PI) % 1;
}

async function runAll(perdure: Perdure, shares: readonly number[]): Promise<readonly Ran[]> {
  const waiting = [...shares.entries()];
  const ran: Ran[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [n, share] = next;
      const choices = [share, (n % 3) / 3]; // its size, and how often it continues as new
      const began = performance.now();
      const wrong = await runMixed(perdure, () => choices.shift() ?? 0);
      ran.push({ share, ms: performance.now() - began, wrong });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return ran;
}
