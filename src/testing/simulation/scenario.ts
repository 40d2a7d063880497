// Scenario: all parameters of one run, as data. The same scenario gives the same run, bit for bit.
//   - A scenario is drawn from a seed. During the run the seed also determines latencies, tokens and
//        interleavings.

import type { TagFilter } from "../../core/provider/tasks.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import { SeededRandom } from "./world/seeded-random.ts";
import {
  DEFAULT_FAULTS,
  drawFaults,
  FAULT_KINDS,
  type FaultKind,
  type FaultPlan,
} from "./world/faults.ts";

/** The runtime options that are plain data. */
export type PlainOptions = Omit<
  RuntimeOptions,
  "log" | "codec" | "executor" | "guards" | "retention" | "unregistered"
>;

/** All parameters of one run. */
export interface Scenario<Plan = unknown> {
  readonly seed: number;
  /** The time unit of the run: one heartbeat period. Leases and faults last several units. */
  readonly unitMs: number;
  readonly workers: readonly PlainOptions[];
  /** Set: the workers drive again and again, instead of running all the time. */
  readonly drives?: true;
  readonly clients: number;
  readonly faults: FaultPlan;
  /** The time at which faults stop. */
  readonly calmAtMs: number;
  /** The plan of the workload. */
  readonly plan: Plan;
}

/** The parameters of the run that a workload uses to draw its plan. */
export interface PlanFrame {
  readonly unitMs: number;
  readonly calmAtMs: number;
  readonly clients: number;
  readonly workers: readonly PlainOptions[];
  readonly faults: readonly FaultKind[];
}

/** The number of units until faults stop. */
const STORMY_UNITS = 24;
/** Crashes after which an activity fails as poison, in runs with activities that end their process. */
export const POISON_DEATHS = 3;
/** The share of seeds without faults, and the minimum number of fault kinds in the other seeds. */
const FINE_WEATHER = 0.03;
const KINDS_MIN = 3;

export function drawScenario<Plan>(
  seed: number,
  options: {
    readonly plan: (random: SeededRandom, frame: PlanFrame) => Plan;
    /** The allowed faults. Default: all except "forget". */
    readonly faults?: readonly FaultKind[];
    /** Options that replace the drawn ones. */
    readonly runtime?: PlainOptions;
  },
): Scenario<Plan> {
  const random = new SeededRandom(seed);
  const frame = random.of("frame");
  const unitMs = frame.pick([1_000, 5_000, 30_000, 120_000]);
  const calmAtMs = STORMY_UNITS * unitMs;
  const swarm = random.of("swarm");
  const allowed = options.faults ?? DEFAULT_FAULTS;
  const kinds = drawKinds(swarm, allowed);
  const workerCount = frame.pick([1, 2, 2, 3, 3, 4]);
  const clients = frame.between(1, 3);
  const common: PlainOptions = {
    ...drawOptions(random.of("options"), unitMs),
    // Without poison activities the limit is high: crashes from other faults must not make an activity
    // poison.
    attemptsMax: kinds.includes("poison") ? POISON_DEATHS : 100,
  };
  const workers = Array.from({ length: workerCount }, (_, slot) => ({
    ...common,
    ...drawOwn(random.of(`worker ${slot}`), slot),
    ...options.runtime,
  }));
  const plan = options.plan(random.of("plan"), {
    unitMs,
    calmAtMs,
    clients,
    workers,
    faults: kinds,
  });
  const faults = drawFaults(random.of("faults"), kinds, {
    unitMs,
    untilMs: calmAtMs,
    workers: workerCount,
    clients,
  });
  return { seed, unitMs, workers, clients, faults, calmAtMs, plan };
}

/** Draws some of the allowed kinds, or none for a seed without faults; in the order of the table. */
function drawKinds(random: SeededRandom, allowed: readonly FaultKind[]): readonly FaultKind[] {
  if (random.likely(FINE_WEATHER)) return [];
  const share = random.pick([0.2, 0.3, 0.5, 0.7]);
  const drawn = new Set(random.some(allowed, share));
  while (drawn.size < Math.min(KINDS_MIN, allowed.length)) drawn.add(random.pick(allowed));
  return FAULT_KINDS.filter((kind) => drawn.has(kind));
}

function drawOptions(random: SeededRandom, unitMs: number): PlainOptions {
  const leases = random.likely(0.5)
    ? {}
    : {
        ...(random.likely(0.7) ? { instanceLeaseMs: random.between(2, 6) * unitMs } : {}),
        ...(random.likely(0.7) ? { taskLeaseMs: random.between(2, 6) * unitMs } : {}),
      };
  return {
    ...leases,
    beatMs: unitMs,
    staleMs: random.between(3, 6) * unitMs,
    stallMs: 10 * unitMs,
    pollIntervalMs: random.pick([1, 2, 4]) * unitMs,
    stickyCacheMax: random.pick([0, 1, 3, 1_000]),
    stickyIdleMs: random.pick([0, 2, 10]) * unitMs,
    turnConcurrency: random.pick([1, 3, 1_000]),
    activityConcurrency: random.pick([1, 3, 500]),
    leaseBatch: random.pick([1, 4, 256]),
    shadowReplay: random.pick(["never", "never", "always", "auto"]),
    sessionLeaseMs: 3 * unitMs,
    sessionIdleMs: random.between(3, 12) * unitMs,
    sessionCleanupMs: 10 * unitMs,
    maxSessionsPerRuntime: random.pick([1, 2, 10]),
    cancelGraceMs: random.pick([0, 1, 4]) * unitMs,
    cancelTimeoutMs: 3_600_000,
  };
}

/** Options that differ between workers. The first worker accepts every tag, so every task has a worker. */
function drawOwn(random: SeededRandom, slot: number): PlainOptions {
  const tags: TagFilter = slot === 0 ? "any" : random.pick(["any", "untagged", "none"]);
  return { tags };
}
