// npm run soak -- --minutes N --store sqlite|postgres: mixed instances with payloads up to 1 MB, for any duration.
// Prints the memory in use once per interval. Fails if a result was wrong or the heap grew.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Perdure } from "../src/index.ts";
import { openAddress } from "../test/faults/kill/store-address.ts";
import { STORE_KINDS, storeUnderTest, type StoreKind } from "../test/faults/kill/stores.ts";
import { flatness } from "../test/faults/soak/flatness.ts";
import { runMixed, SOAK_WORK } from "../test/faults/soak/workload.ts";
import { heapInUse } from "../test/support/garbage.ts";

const USAGE = `npm run soak -- --minutes N --store sqlite|postgres   default: 10 minutes on SQLite
--at-once N   instances at a time (default 20)`;
/** The minimum number of samples, however short the soak. */
const SAMPLES_MIN = 20;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    store: { type: "string", default: "sqlite" },
    "at-once": { type: "string", default: "20" },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<void> {
  const minutes = positive(values.minutes, "minutes");
  const atOnce = Math.ceil(positive(values["at-once"], "at-once"));
  const folder = mkdtempSync(join(tmpdir(), "perdure-soak-"));
  try {
    await using store = await storeUnderTest(chosenStore(values.store), folder);
    const provider = await openAddress(store.address);
    const perdure = await Perdure.open(provider, { register: SOAK_WORK });
    const loop = monitorEventLoopDelay({ resolution: 5 });
    loop.enable();
    const soak = new Soak(perdure, minutes * 60_000);
    await Promise.all([soak.sample(), ...Array.from({ length: atOnce }, () => soak.work())]);
    await perdure.close();
    await provider.close();
    report(soak, loop);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Soak {
  readonly heap: number[] = [];
  readonly wrong: string[] = [];
  finished = 0;
  readonly #perdure: Perdure;
  readonly #until: number;
  readonly #everyMs: number;

  constructor(perdure: Perdure, durationMs: number) {
    this.#perdure = perdure;
    this.#until = Date.now() + durationMs;
    this.#everyMs = Math.min(60_000, durationMs / SAMPLES_MIN);
  }

  async work(): Promise<void> {
    while (Date.now() < this.#until) {
      const fault = await runMixed(this.#perdure, Math.random);
      if (fault !== null) this.wrong.push(fault);
      this.finished++;
    }
  }

  async sample(): Promise<void> {
    while (Date.now() < this.#until) {
      await new Promise((resolve) => setTimeout(resolve, this.#everyMs));
      const heap = await heapInUse();
      this.heap.push(heap);
      const rss = process.memoryUsage.rss();
      console.log(`${this.finished} instances, heap ${mb(heap)}, resident ${mb(rss)}`);
    }
  }
}

function report(
  { heap, wrong, finished }: Soak,
  loop: ReturnType<typeof monitorEventLoopDelay>,
): void {
  const flat = flatness(heap);
  const late = `loop p99 ${ms(loop.percentile(99))}, max ${ms(loop.max)}`;
  console.log(`${finished} instances, ${wrong.length} wrong results; ${late}`);
  for (const fault of wrong.slice(0, 10)) console.log(`  ${fault}`);
  const grown = flat === null ? "" : ` from ${mb(flat.beforeBytes)} to ${mb(flat.afterBytes)}`;
  console.log(
    flat?.isFlat === true ? `The heap is flat:${grown}` : `The heap is not flat:${grown}`,
  );
  if (wrong.length > 0 || flat?.isFlat !== true || finished === 0) process.exitCode = 1;
}

function chosenStore(name: string): StoreKind {
  const kind = STORE_KINDS.find((each) => each === name);
  if (kind === undefined) throw new Error(`store must be sqlite or postgres; got "${name}"`);
  return kind;
}

function positive(text: string, name: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) {
    throw new Error(`${name} must be a number greater than zero; got "${text}"`);
  }
  return value;
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function ms(nanoseconds: number): string {
  return `${(nanoseconds / 1e6).toFixed(0)} ms`;
}

if (values.help) console.log(USAGE);
else await main();
