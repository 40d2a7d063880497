// A scenario: everything that one run is made of, as data. The same scenario is the same run, bit for bit.
//   SC1. Drawn from a seed; after that the seed only feeds what happens inside (latencies, tokens, interleavings).

import type { TagFilter } from "../../core/provider/tasks.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import { Chance } from "./chance.ts";
import {
  DEFAULT_FAULTS,
  drawFaults,
  FAULT_KINDS,
  type FaultKind,
  type FaultPlan,
} from "./faults.ts";

/** What a runtime is given that can be written down. */
export type PlainOptions = Omit<
  RuntimeOptions,
  "log" | "codec" | "executor" | "guards" | "retention" | "unregistered"
>;

/** One run, as data. */
export interface Scenario<Plan = unknown> {
  readonly seed: number;
  /** The measure of everything that takes time. */
  readonly unitMs: number;
  readonly workers: readonly PlainOptions[];
  readonly clients: number;
  readonly faults: FaultPlan;
  /** When faults stop. */
  readonly calmAtMs: number;
  /** What the workload does. */
  readonly plan: Plan;
}

/** What a workload may know when it plans. */
export interface PlanFrame {
  readonly unitMs: number;
  readonly calmAtMs: number;
  readonly clients: number;
  readonly workers: readonly PlainOptions[];
  readonly faults: readonly FaultKind[];
}

/** Units until faults stop. */
const STORMY_UNITS = 24;
/** Deaths after which an activity fails as poison, in runs where some end their process. */
export const POISON_DEATHS = 3;
/** The share of seeds in which nothing goes wrong at all, and the least that does in the others. */
const FINE_WEATHER = 0.03;
const KINDS_MIN = 3;

export function drawScenario<Plan>(
  seed: number,
  options: {
    readonly plan: (chance: Chance, frame: PlanFrame) => Plan;
    /** Only these may happen. Default: all but "forget". */
    readonly faults?: readonly FaultKind[];
    /** Set over what is drawn. */
    readonly runtime?: PlainOptions;
  },
): Scenario<Plan> {
  const chance = new Chance(seed);
  const frame = chance.of("frame");
  const unitMs = frame.pick([1_000, 5_000, 30_000, 120_000]);
  const calmAtMs = STORMY_UNITS * unitMs;
  const swarm = chance.of("swarm");
  const allowed = options.faults ?? DEFAULT_FAULTS;
  const kinds = drawKinds(swarm, allowed);
  const workerCount = frame.pick([1, 2, 2, 3, 3, 4]);
  const clients = frame.between(1, 3);
  const common: PlainOptions = {
    ...drawOptions(chance.of("options"), unitMs),
    // Deaths that have nothing to do with an activity must not make it poison; in the end they would.
    attemptsMax: kinds.includes("poison") ? POISON_DEATHS : 100,
  };
  const workers = Array.from({ length: workerCount }, (_, slot) => ({
    ...common,
    ...drawOwn(chance.of(`worker ${slot}`), slot),
    ...options.runtime,
  }));
  const plan = options.plan(chance.of("plan"), {
    unitMs,
    calmAtMs,
    clients,
    workers,
    faults: kinds,
  });
  const faults = drawFaults(chance.of("faults"), kinds, {
    unitMs,
    untilMs: calmAtMs,
    workers: workerCount,
    clients,
  });
  return { seed, unitMs, workers, clients, faults, calmAtMs, plan };
}

/** Some of those allowed, or in fine weather none; in the order of the table. */
function drawKinds(chance: Chance, allowed: readonly FaultKind[]): readonly FaultKind[] {
  if (chance.likely(FINE_WEATHER)) return [];
  const share = chance.pick([0.2, 0.3, 0.5, 0.7]);
  const drawn = new Set(chance.some(allowed, share));
  while (drawn.size < Math.min(KINDS_MIN, allowed.length)) drawn.add(chance.pick(allowed));
  return FAULT_KINDS.filter((kind) => drawn.has(kind));
}

function drawOptions(chance: Chance, unitMs: number): PlainOptions {
  const leases = chance.likely(0.5)
    ? {}
    : {
        ...(chance.likely(0.7) ? { instanceLeaseMs: chance.between(2, 6) * unitMs } : {}),
        ...(chance.likely(0.7) ? { taskLeaseMs: chance.between(2, 6) * unitMs } : {}),
      };
  return {
    ...leases,
    beatMs: unitMs,
    staleMs: chance.between(3, 6) * unitMs,
    stallMs: 10 * unitMs,
    pollIntervalMs: chance.pick([1, 2, 4]) * unitMs,
    stickyCacheMax: chance.pick([0, 1, 3, 1_000]),
    stickyIdleMs: chance.pick([0, 2, 10]) * unitMs,
    turnConcurrency: chance.pick([1, 3, 1_000]),
    activityConcurrency: chance.pick([1, 3, 500]),
    leaseBatch: chance.pick([1, 4, 256]),
    shadowReplay: chance.pick(["never", "never", "always", "auto"]),
    sessionLeaseMs: 3 * unitMs,
    sessionIdleMs: chance.between(3, 12) * unitMs,
    sessionCleanupMs: 10 * unitMs,
    maxSessionsPerRuntime: chance.pick([1, 2, 10]),
    cancelGraceMs: chance.pick([0, 1, 4]) * unitMs,
    cancelTimeoutMs: 3_600_000,
  };
}

/** What differs from worker to worker. The first one takes everything, so that nothing waits for nobody. */
function drawOwn(chance: Chance, slot: number): PlainOptions {
  const tags: TagFilter = slot === 0 ? "any" : chance.pick(["any", "untagged", "none"]);
  return { tags };
}
