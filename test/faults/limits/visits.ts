// Visits: when each run of the limited jobs entered and left, written by the worker processes to one file each, and what
// the limits say about them.
//   - Times are of the system's monotonic clock, which all processes of one machine share.
//   - A run of a killed process left at the latest when the process was gone. Its slot is free after that.

import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { job } from "../../../src/index.ts";
import { setTimeout as pause } from "node:timers/promises";

export const CONCURRENCY = 4;
export const PER_KEY = 2;
export const RATE = { count: 30, perMs: 500 };
export const STEADY_RATE = { count: 100, perMs: 1_000 };

interface Rate {
  readonly count: number;
  readonly perMs: number;
}

interface Visit {
  readonly job: string;
  readonly key: string;
  readonly entered: number;
  left: number;
}

function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** The limited jobs. Each run writes its entry at once, and its exit. */
export function limitedJobs(folder: string, onBegin: () => void) {
  const file = join(folder, `visits-${process.pid}`);
  const visit = (name: string) => async (key: string) => {
    appendFileSync(file, `in ${name} ${key} ${now()}\n`);
    onBegin();
    await pause(1 + (key.charCodeAt(0) % 3));
    appendFileSync(file, `out ${name} ${key} ${now()}\n`);
  };
  const limitOf = ({ count, perMs }: Rate) => ({ limit: { rate: { count, per: perMs } } });
  return [
    job("few", visit("few"), { limit: { concurrency: CONCURRENCY, perKey: PER_KEY }, fair: true }),
    job("slow", visit("slow"), limitOf(RATE)),
    job("steady", visit("steady"), limitOf(STEADY_RATE)),
  ] as const;
}

/** `gone`: when each killed process was gone, by its id. */
export function faultsOf(folder: string, gone: ReadonlyMap<number, number>): readonly string[] {
  const visits = allVisits(folder, gone);
  const few = visits.filter(({ job: name }) => name === "few");
  const keys = new Set(few.map(({ key }) => key));
  return [
    ...overlaps(few, CONCURRENCY, "few"),
    ...[...keys].flatMap((key) =>
      overlaps(
        few.filter((visit) => visit.key === key),
        PER_KEY,
        `key ${key}`,
      ),
    ),
    ...bursts(visits, "slow", RATE),
  ];
}

/** How much of the rate of the job "steady" its runs used, and where they exceeded it. */
export function steadyUse(folder: string) {
  const visits = allVisits(folder, new Map()).filter(({ job: name }) => name === "steady");
  const times = visits.map(({ entered }) => entered).sort((a, b) => a - b);
  const { count, perMs } = STEADY_RATE;
  // The first window's runs may begin at once.
  const tookMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const used = (visits.length - count) / count / (tookMs / perMs);
  return { runs: visits.length, used, faults: bursts(visits, "steady", STEADY_RATE) };
}

function allVisits(folder: string, gone: ReadonlyMap<number, number>): readonly Visit[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith("visits-"))
    .flatMap((name) => visitsOf(join(folder, name), gone.get(Number(name.slice(7))) ?? Infinity));
}

function visitsOf(file: string, gone: number): readonly Visit[] {
  const open: Visit[] = [];
  const visits: Visit[] = [];
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const [kind, name = "", key = "", time = ""] = line.split(" ");
    if (kind === "in") {
      const visit = { job: name, key, entered: Number(time), left: gone };
      open.push(visit);
      visits.push(visit);
    } else if (kind === "out" && time !== "") {
      const index = open.findIndex((visit) => visit.job === name && visit.key === key);
      const [visit] = open.splice(index, 1);
      if (visit !== undefined) visit.left = Number(time);
    }
  }
  return visits;
}

function overlaps(visits: readonly Visit[], limit: number, what: string): readonly string[] {
  const faults: string[] = [];
  for (const { entered } of visits) {
    const inside = visits.filter((visit) => visit.entered <= entered && entered < visit.left);
    if (inside.length > limit) {
      faults.push(`${what}: ${inside.length} runs at ${entered}, of at most ${limit}`);
    }
  }
  return faults;
}

function bursts(visits: readonly Visit[], name: string, { count, perMs }: Rate): string[] {
  const own = visits.filter((visit) => visit.job === name);
  const times = own.map(({ entered }) => entered).sort((a, b) => a - b);
  return times.flatMap((time, index) => {
    const later = times[index + count];
    if (later === undefined || later - time >= perMs) return [];
    return [`${name}: ${count + 1} runs within ${later - time} ms from ${time}`];
  });
}
