// Faults: all faults of a run, as data, so that a run can be repeated without one of them.
//   - Swarm testing: each seed enables a random subset of the faults, at random rates. Some bugs need two
//        faults together; others appear only if one of the two is absent.

import type { SeededRandom } from "./seeded-random.ts";
import { NO_FAULTS, type NetworkFaults } from "./network.ts";

/** Every kind of fault. */
export const FAULT_KINDS = [
  "failBefore", // a call fails, and the store has not executed it
  "failAfter", // a call fails, although the store has executed it
  "slow", // a call or its reply takes longer than a lease
  "news", // notifications are lost, duplicated or late
  "crash", // a process ends at an arbitrary point of its code
  "pause", // a process is suspended for a while and then continues
  "partition", // messages between a process and the store are held back, and arrive later
  "clock", // the store's clock jumps; the clocks of processes are wrong
  "storeDown", // the store rejects every call for a while
  "diskFull", // the store rejects writes for a while
  "deploy", // a rolling deploy replaces the processes, one after another, with newer code
  "poison", // an activity ends its process whenever it runs; in some runs a turn or a step does
  "damage", // a row of a history is damaged, and later repaired
  "forget", // the store goes back in time: its last commits are lost, and processes keep running
] as const;
/** A kind of fault. */
export type FaultKind = (typeof FAULT_KINDS)[number];
/**
 * The faults of a run that names none. "forget" is not included: it loses acknowledged calls, and only some
 * workloads expect that.
 */
export const DEFAULT_FAULTS: readonly FaultKind[] = FAULT_KINDS.filter((kind) => kind !== "forget");

/** A fault at a planned time. `slot` is the number of a process; workers come first. */
export type FaultEvent =
  | {
      readonly kind: "crash";
      readonly atMs: number;
      readonly slot: number;
      /** The number of callbacks that the process still runs, so that it crashes at an arbitrary point. */
      readonly steps: number;
      readonly backAfterMs: number;
    }
  | {
      readonly kind: "pause";
      readonly atMs: number;
      readonly slot: number;
      readonly steps: number;
      readonly forMs: number;
    }
  | {
      readonly kind: "partition";
      readonly atMs: number;
      readonly slot: number;
      readonly forMs: number;
    }
  | { readonly kind: "clock"; readonly atMs: number; readonly jumpMs: number }
  | {
      readonly kind: "skew";
      readonly atMs: number;
      readonly slot: number;
      readonly wallMs: number;
      /** The error of the process's copy of the store's clock. */
      readonly copyMs: number;
    }
  | { readonly kind: "storeDown" | "diskFull"; readonly atMs: number; readonly forMs: number }
  | {
      readonly kind: "deploy";
      readonly atMs: number;
      readonly slot: number;
      readonly graceMs: number;
    }
  | { readonly kind: "damage"; readonly atMs: number; readonly pick: number }
  /** The store loses everything that was written in the last `backMs`. */
  | { readonly kind: "forget"; readonly atMs: number; readonly backMs: number };

/** The faults of one run. */
export interface FaultPlan {
  readonly kinds: readonly FaultKind[];
  readonly network: NetworkFaults;
  readonly events: readonly FaultEvent[];
}

export interface FaultFrame {
  /** The time unit of the run; heartbeats, leases and faults are multiples of it. */
  readonly unitMs: number;
  /** All faults happen before this time. */
  readonly untilMs: number;
  readonly workers: number;
  readonly clients: number;
}

const HOUR_MS = 3_600_000;
/**
 * The share of runs in which the clock also goes back by hours, and the unit from which that is not too
 * slow.
 */
const FAR_SHARE = 0.5;
const FAR_UNIT_MS = 30_000;

export function drawFaults(
  random: SeededRandom,
  kinds: readonly FaultKind[],
  frame: FaultFrame,
): FaultPlan {
  const has = (kind: FaultKind): boolean => kinds.includes(kind);
  return {
    kinds,
    network: drawNetwork(random, has, frame),
    events: [...drawEvents(random, has, frame)].sort((a, b) => a.atMs - b.atMs),
  };
}

function drawNetwork(
  random: SeededRandom,
  has: (kind: FaultKind) => boolean,
  { unitMs }: FaultFrame,
): NetworkFaults {
  const rate = (kind: FaultKind, most: number): number => {
    const drawn = random.fraction() * most; // drawn for every kind, so that kinds are independent
    return has(kind) ? drawn : 0;
  };
  return {
    failBefore: rate("failBefore", 0.1),
    failAfter: rate("failAfter", 0.1),
    slow: rate("slow", 0.05),
    slowMs: random.between(1, 8) * unitMs,
    newsLost: rate("news", 1),
    newsDoubled: rate("news", 0.5),
    newsLate: rate("news", 0.5),
    latencyMs: random.pick([0, NO_FAULTS.latencyMs, 20, Math.floor(unitMs / 10)]),
  };
}

function* drawEvents(
  random: SeededRandom,
  has: (kind: FaultKind) => boolean,
  frame: FaultFrame,
): Iterable<FaultEvent> {
  const { unitMs, untilMs, workers, clients } = frame;
  const at = (): number => random.below(untilMs);
  const upTo = (units: number): number => random.below(units * unitMs);
  const times = (kind: FaultKind, most: number): number => {
    const count = random.between(1, most);
    return has(kind) ? count : 0;
  };
  const slot = (): number => random.below(workers + clients);
  const steps = (): number => random.below(random.pick([3, 30, 120]));
  for (let i = times("crash", 8); i > 0; i--) {
    yield { kind: "crash", atMs: at(), slot: slot(), steps: steps(), backAfterMs: upTo(8) };
  }
  for (let i = times("pause", 6); i > 0; i--) {
    yield { kind: "pause", atMs: at(), slot: slot(), steps: steps(), forMs: upTo(20) };
  }
  for (let i = times("partition", 6); i > 0; i--) {
    yield { kind: "partition", atMs: at(), slot: slot(), forMs: upTo(12) };
  }
  for (let i = times("clock", 3); i > 0; i--) {
    const jumpMs = random.pick([-1, 1]) * upTo(random.pick([1, 6, 60]));
    yield { kind: "clock", atMs: at(), jumpMs };
    const wallMs = random.between(-3_600_000, 3_600_000);
    const copyMs = random.between(-10, 10);
    yield { kind: "skew", atMs: at(), slot: slot(), wallMs, copyMs };
  }
  // A separate stream: seeds that have found bugs keep their other faults.
  const far = random.of("far clock");
  if (has("clock") && unitMs >= FAR_UNIT_MS && far.likely(FAR_SHARE)) {
    const jumpMs = -far.between(HOUR_MS, 3 * HOUR_MS);
    yield { kind: "clock", atMs: far.below(untilMs), jumpMs };
  }
  for (const kind of ["storeDown", "diskFull"] as const) {
    for (let i = times(kind, 2); i > 0; i--) yield { kind, atMs: at(), forMs: upTo(10) };
  }
  if (has("deploy")) {
    const from = at();
    for (let worker = 0; worker < workers; worker++) {
      yield { kind: "deploy", atMs: from + worker * upTo(3), slot: worker, graceMs: upTo(2) };
    }
  }
  for (let i = times("damage", 2); i > 0; i--) {
    yield { kind: "damage", atMs: at(), pick: random.below(1_000) };
  }
  for (let i = times("forget", 4); i > 0; i--) {
    const atMs = at();
    yield { kind: "forget", atMs, backMs: Math.min(random.below(3 * unitMs), atMs) };
  }
}
