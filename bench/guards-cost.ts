// What the guards cost code outside orchestrations: nanoseconds per call, with and without guards.
//   `npm run bench:guards` starts separate processes, alternately with and without guards, so that neither benefits
//   from what the compiler learned from the other. A figure is the median of the processes' best rounds.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { GUARD_NAMES } from "../src/core/define/guard-names.ts";
import { installGuards } from "../src/runtime/guards/guards.ts";
import { median } from "./statistics.ts";

const PROCESSES = 9;
const ROUNDS = 9;

/** Read at the end, so that the compiler cannot remove the calls. */
let sink = 0;

/** Each function has its own loop: a shared loop would measure the call of an unknown function. */
const LOOPS: Readonly<Record<string, readonly [calls: number, loop: (calls: number) => void]>> = {
  "Date.now()": [
    1_000_000,
    (calls) => {
      for (let i = 0; i < calls; i++) sink += Date.now();
    },
  ],
  "new Date()": [
    1_000_000,
    (calls) => {
      for (let i = 0; i < calls; i++) sink += new Date().getTime();
    },
  ],
  "new Date(n)": [
    1_000_000,
    (calls) => {
      for (let i = 0; i < calls; i++) sink += new Date(i).getTime();
    },
  ],
  "performance.now()": [
    1_000_000,
    (calls) => {
      for (let i = 0; i < calls; i++) sink += performance.now();
    },
  ],
  "Math.random()": [
    1_000_000,
    (calls) => {
      for (let i = 0; i < calls; i++) sink += Math.random();
    },
  ],
  "crypto.randomUUID()": [
    200_000,
    (calls) => {
      // If only the length of a text is used, the engine need not build the text.
      for (let i = 0; i < calls; i++) sink += crypto.randomUUID().charCodeAt(9);
    },
  ],
  "setTimeout(…), cleared": [
    100_000,
    (calls) => {
      for (let i = 0; i < calls; i++) clearTimeout(setTimeout(nothing, 1_000));
    },
  ],
  "existsSync(…)": [
    20_000,
    (calls) => {
      for (let i = 0; i < calls; i++) sink += existsSync("/") ? 1 : 0;
    },
  ],
};

function nothing(): void {
  // a timer that never fires
}

type Figures = Readonly<Record<string, number>>;

function measure(): Figures {
  const figures: Record<string, number> = {};
  for (const [name, [calls, loop]] of Object.entries(LOOPS)) {
    let best = Infinity;
    for (let round = 0; round < ROUNDS; round++) {
      const begun = process.hrtime.bigint();
      loop(calls);
      best = Math.min(best, Number(process.hrtime.bigint() - begun) / calls);
    }
    figures[name] = best;
  }
  return figures;
}

function inProcess(mode: "with" | "without"): Figures {
  const file = fileURLToPath(import.meta.url);
  return JSON.parse(execFileSync(process.execPath, [file, mode], { encoding: "utf8" })) as Figures;
}

function compare(): void {
  const without: Figures[] = [];
  const guarded: Figures[] = [];
  for (let i = 0; i < PROCESSES; i++) {
    without.push(inProcess("without"));
    guarded.push(inProcess("with"));
  }
  const of = (figures: readonly Figures[], name: string): number =>
    median(figures.map((figure) => figure[name] ?? Number.NaN));
  const rows = Object.keys(LOOPS).map((name) => ({
    call: name,
    "without, ns": of(without, name).toFixed(1),
    "with, ns": of(guarded, name).toFixed(1),
  }));
  console.table(rows);
}

const [mode] = process.argv.slice(2);
if (mode === undefined) {
  compare();
} else {
  if (mode === "with") installGuards(new Set(GUARD_NAMES));
  process.stdout.write(JSON.stringify(measure()));
  process.exitCode = Number.isNaN(sink) ? 1 : 0;
}
