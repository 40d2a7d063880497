// npm run soak -- --minutes N --store sqlite|postgres: processes that run mixed instances with payloads up to 1 MB on one
// store, for any duration. Prints the resources in use once per interval. Fails if a result was wrong or something grew.
//   A long soak may run in pieces: --address continues on the store of an earlier piece.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  existingStore,
  STORE_KINDS,
  storeUnderTest,
  type StoreKind,
  type StoreUnderTest,
} from "../test/faults/kill/stores.ts";
import { flatness, type Tolerance } from "../test/faults/soak/flatness.ts";
import {
  PROCESS_METRICS,
  STORE_METRICS,
  type ProcessReport,
  type ProcessSample,
  type StoreSample,
} from "../test/faults/soak/samples.ts";
import { storeSample } from "../test/faults/soak/store-size.ts";
import { hostFacts } from "./host-facts.ts";

const USAGE = `npm run soak -- --minutes N --store sqlite|postgres   default: 10 minutes on SQLite
--processes N      processes on the store (default 2)
--at-once N        instances at a time in each process (default 10)
--address ADDRESS  continues on the store of an earlier piece, and keeps it:
                   sqlite:FILE, or a PostgreSQL URL with the schema as its fragment
--json FILE        the samples and the verdicts, as JSON`;

const PROGRAM = new URL("../test/faults/soak/soak-process.ts", import.meta.url);
const EVERY_MS = 60_000;
/** The minimum number of samples, however short the soak. */
const SAMPLES_MIN = 20;
/** Retention deletes once per minute, so in a shorter soak the size of the store says nothing. */
const STORE_MINUTES_MIN = 10;

const BYTES: Tolerance = { share: 0.1, absolute: 10_000_000 };
const TOLERANCES: Readonly<Record<keyof ProcessSample | keyof StoreSample, Tolerance>> = {
  heapBytes: BYTES,
  residentBytes: { share: 0.1, absolute: 30_000_000 }, // V8 keeps freed pages for a while
  resources: { share: 0.1, absolute: 5 },
  descriptors: { share: 0, absolute: 5 },
  tableBytes: BYTES,
  indexBytes: BYTES,
  logBytes: BYTES,
  connections: { share: 0, absolute: 2 },
};

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    store: { type: "string", default: "sqlite" },
    processes: { type: "string", default: "2" },
    "at-once": { type: "string", default: "10" },
    address: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

interface Verdict {
  readonly what: string;
  readonly before: number;
  readonly after: number;
  readonly isFlat: boolean;
}

async function main(): Promise<void> {
  const minutes = positive(values.minutes, "minutes");
  const atOnce = Math.ceil(positive(values["at-once"], "at-once"));
  const count = Math.ceil(positive(values.processes, "processes"));
  const folder = mkdtempSync(join(tmpdir(), "perdure-soak-"));
  try {
    await using store =
      values.address === undefined
        ? await storeUnderTest(chosenStore(values.store), folder)
        : await existingStore(values.address);
    const soak = new Soak(store, minutes * 60_000);
    await soak.run(count, atOnce);
    report(soak);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Soak {
  readonly processes: Member[] = [];
  readonly samples: StoreSample[] = [];
  readonly #store: StoreUnderTest;
  readonly #totalMs: number;
  readonly #everyMs: number;

  constructor(store: StoreUnderTest, totalMs: number) {
    this.#store = store;
    this.#totalMs = totalMs;
    this.#everyMs = Math.min(EVERY_MS, totalMs / SAMPLES_MIN);
  }

  get isLongEnough(): boolean {
    return this.#totalMs >= STORE_MINUTES_MIN * 60_000;
  }
  get finished(): number {
    return this.processes.reduce((sum, { finished }) => sum + finished, 0);
  }
  get wrong(): readonly string[] {
    return this.processes.flatMap(({ wrong }) => wrong);
  }

  async run(count: number, atOnce: number): Promise<void> {
    const args = [this.#store.address, atOnce, this.#everyMs, this.#totalMs].map(String);
    for (let i = 0; i < count; i++) this.processes.push(new Member(args));
    const ended = Promise.all(this.processes.map(({ ended: one }) => one));
    while (await Promise.race([ended.then(() => false), pause(this.#everyMs, true)])) {
      // Before its first sample a process may still be creating the store.
      if (this.processes.some(({ samples }) => samples.length === 0)) continue;
      this.samples.push(await storeSample(this.#store));
      console.log(this.#line());
    }
  }

  #line(): string {
    const members = this.processes.map(({ samples }) => samples.at(-1));
    const heaps = members.map((sample) => shown("heapBytes", sample?.heapBytes ?? null));
    const resident = members.map((sample) => shown("residentBytes", sample?.residentBytes ?? null));
    const store = STORE_METRICS.flatMap((metric) => {
      const value = this.samples.at(-1)?.[metric] ?? null;
      return value === null ? [] : [`${metric} ${shown(metric, value)}`];
    });
    return [
      `${this.finished} instances`,
      `heap ${heaps.join(" and ")}`,
      `resident ${resident.join(" and ")}`,
      ...store,
    ].join(", ");
  }
}

/** One process, with what it has reported. */
class Member {
  readonly samples: ProcessSample[] = [];
  readonly wrong: string[] = [];
  finished = 0;
  loopP99Ms = 0;
  readonly ended: Promise<void>;

  constructor(args: readonly string[]) {
    const child = fork(PROGRAM, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    child.on("message", (message) => this.#take(message as ProcessReport));
    this.ended = endOf(child);
  }

  #take({ sample, finished, wrong, loopP99Ms }: ProcessReport): void {
    this.samples.push(sample);
    this.wrong.push(...wrong);
    this.finished = finished;
    this.loopP99Ms = Math.max(this.loopP99Ms, loopP99Ms);
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  if (code !== 0) throw new Error(`a process of the soak ended with ${code ?? signal}`);
}

function report(soak: Soak): void {
  const { finished, wrong, processes } = soak;
  const loop = Math.max(...processes.map(({ loopP99Ms }) => loopP99Ms));
  console.log(
    `${finished} instances, ${wrong.length} wrong results; loop p99 of the worst interval ${loop.toFixed(0)} ms`,
  );
  for (const fault of wrong.slice(0, 10)) console.log(`  ${fault}`);
  const verdicts = [
    ...processes.flatMap(({ samples }, i) =>
      verdictsOf(PROCESS_METRICS, samples, `process ${i + 1}: `),
    ),
    ...(soak.isLongEnough ? verdictsOf(STORE_METRICS, soak.samples, "store: ") : []),
  ];
  if (!soak.isLongEnough) {
    console.log(`The size of the store is judged from ${STORE_MINUTES_MIN} minutes on.`);
  }
  for (const { what, before, after, isFlat } of verdicts) {
    console.log(`${isFlat ? "flat" : "GROWS"}  ${what}: ${before} → ${after}`);
  }
  if (values.json !== undefined) {
    const document = {
      host: hostFacts(),
      ...{ finished, wrong, verdicts },
      processes: processes.map(({ samples }) => samples),
      store: soak.samples,
    };
    writeFileSync(values.json, `${JSON.stringify(document, null, 1)}\n`);
  }
  const isBad = wrong.length > 0 || finished === 0 || verdicts.length === 0;
  if (isBad || verdicts.some(({ isFlat }) => !isFlat)) process.exitCode = 1;
}

function verdictsOf<Metric extends keyof ProcessSample | keyof StoreSample>(
  metrics: readonly Metric[],
  samples: readonly Readonly<Record<Metric, number | null>>[],
  prefix: string,
): Verdict[] {
  return metrics.flatMap((metric) => {
    const measured = samples.map((sample) => sample[metric]).filter((value) => value !== null);
    const flat = flatness(measured, TOLERANCES[metric]);
    return flat === null ? [] : [{ what: `${prefix}${metric}`, ...flat }];
  });
}

function shown(metric: string, value: number | null): string {
  if (value === null) return "?";
  return metric.endsWith("Bytes") ? `${(value / 1e6).toFixed(1)} MB` : String(value);
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

if (values.help) console.log(USAGE);
else await main();
