// Faults: what may go wrong in a run, as data, so that a run can be repeated without one of them.
//   FA1. Swarm: a seed switches a random part of them on, at rates of its own. A fault that never meets another
//        hides the bugs that need both apart, or one without the other.

import type { Chance } from "./chance.ts";
import { NO_FAULTS, type NetworkFaults } from "./network.ts";

/** Everything that may go wrong. */
export const FAULT_KINDS = [
  "failBefore", // a call fails and was not carried out
  "failAfter", // a call fails and was carried out: nobody knows
  "slow", // a call or its answer takes longer than a lease
  "news", // wake-ups are lost, doubled or late
  "crash", // a process dies, anywhere in its code
  "pause", // a process stands still, and goes on as if nothing had happened
  "partition", // what a process and the store send each other is held up, and arrives all the same
  "clock", // the store's clock jumps; processes' clocks are wrong
  "storeDown", // the store refuses everything for a while
  "diskFull", // the store refuses writes for a while
  "deploy", // processes are replaced, one after the other, by others with newer code
  "poison", // an activity ends its process whenever it runs, and in some runs the turn or step of an instance
  "damage", // a row of a history is damaged, and later repaired
  "forget", // the store goes back in time: its last commits are lost, and processes keep running
] as const;
/** One of them. */
export type FaultKind = (typeof FAULT_KINDS)[number];
/**
 * Those that happen unless a run asks for others. After "forget" acknowledged calls are gone, which a workload has to
 * expect: it must be asked for by name.
 */
export const DEFAULT_FAULTS: readonly FaultKind[] = FAULT_KINDS.filter((kind) => kind !== "forget");

/** Something that happens at a moment. Slots number the processes, workers first. */
export type FaultEvent =
  | {
      readonly kind: "crash";
      readonly atMs: number;
      readonly slot: number;
      /** How many callbacks it still runs: anywhere in the middle of its work. */
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
      /** How wrong its copy of the store's clock is. */
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
  /** Everything that was written in the last `backMs` is lost. */
  | { readonly kind: "forget"; readonly atMs: number; readonly backMs: number };

/** The faults of one run. */
export interface FaultPlan {
  readonly kinds: readonly FaultKind[];
  readonly network: NetworkFaults;
  readonly events: readonly FaultEvent[];
}

export interface FaultFrame {
  /** The measure of everything that takes time: beats, leases, faults. */
  readonly unitMs: number;
  /** Faults happen before. */
  readonly untilMs: number;
  readonly workers: number;
  readonly clients: number;
}

const HOUR_MS = 3_600_000;
/** How often the clock is also set back by hours, and the unit from which on that does not make a run very long. */
const FAR_SHARE = 0.5;
const FAR_UNIT_MS = 30_000;

export function drawFaults(
  chance: Chance,
  kinds: readonly FaultKind[],
  frame: FaultFrame,
): FaultPlan {
  const has = (kind: FaultKind): boolean => kinds.includes(kind);
  return {
    kinds,
    network: drawNetwork(chance, has, frame),
    events: [...drawEvents(chance, has, frame)].sort((a, b) => a.atMs - b.atMs),
  };
}

function drawNetwork(
  chance: Chance,
  has: (kind: FaultKind) => boolean,
  { unitMs }: FaultFrame,
): NetworkFaults {
  const rate = (kind: FaultKind, most: number): number => {
    const drawn = chance.random() * most; // drawn either way: one kind less changes no other
    return has(kind) ? drawn : 0;
  };
  return {
    failBefore: rate("failBefore", 0.1),
    failAfter: rate("failAfter", 0.1),
    slow: rate("slow", 0.05),
    slowMs: chance.between(1, 8) * unitMs,
    newsLost: rate("news", 1),
    newsDoubled: rate("news", 0.5),
    newsLate: rate("news", 0.5),
    latencyMs: chance.pick([0, NO_FAULTS.latencyMs, 20, Math.floor(unitMs / 10)]),
  };
}

function* drawEvents(
  chance: Chance,
  has: (kind: FaultKind) => boolean,
  frame: FaultFrame,
): Iterable<FaultEvent> {
  const { unitMs, untilMs, workers, clients } = frame;
  const at = (): number => chance.below(untilMs);
  const upTo = (units: number): number => chance.below(units * unitMs);
  const times = (kind: FaultKind, most: number): number => {
    const count = chance.between(1, most);
    return has(kind) ? count : 0;
  };
  const slot = (): number => chance.below(workers + clients);
  const steps = (): number => chance.below(chance.pick([3, 30, 120]));
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
    const jumpMs = chance.pick([-1, 1]) * upTo(chance.pick([1, 6, 60]));
    yield { kind: "clock", atMs: at(), jumpMs };
    const wallMs = chance.between(-3_600_000, 3_600_000);
    const copyMs = chance.between(-10, 10);
    yield { kind: "skew", atMs: at(), slot: slot(), wallMs, copyMs };
  }
  // From numbers of its own: seeds that have found something keep their other faults.
  const far = chance.of("far clock");
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
    yield { kind: "damage", atMs: at(), pick: chance.below(1_000) };
  }
  for (let i = times("forget", 4); i > 0; i--) {
    const atMs = at();
    yield { kind: "forget", atMs, backMs: Math.min(chance.below(3 * unitMs), atMs) };
  }
}
