// Repair jobs: instances that fail, or are cancelled or terminated, until their operator has repaired them. As data.

import type { PlanFrame } from "../../scenario.ts";
import type { SeededRandom } from "../../world/seeded-random.ts";

/** One call. A fragile call fails `fails` times, counted by its idempotency key, before it succeeds. */
export type RepairCall =
  | {
      readonly op: "work" | "step";
      readonly salt: number;
      readonly ms: number;
      readonly fails: number;
    }
  | { readonly op: "event"; readonly name: string }
  | { readonly op: "sleep"; readonly ms: number }
  | { readonly op: "child"; readonly stages: readonly RepairStage[] };

/** Calls that run at once. "settled" awaits all of them before it throws; "all" cancels the others. */
export interface RepairStage {
  readonly how: "settled" | "all";
  readonly calls: readonly RepairCall[];
}

/** The input of the orchestration. */
export interface RepairInput {
  readonly stages: readonly RepairStage[];
  /** Continues as new after this many stages; null: never. */
  readonly perExecution: number | null;
  readonly done?: readonly unknown[];
}

export interface RepairRaise {
  readonly name: string;
  readonly value: number;
  readonly atMs: number;
}

export interface RepairJob {
  readonly id: string;
  readonly slot: number;
  readonly startAtMs: number;
  readonly input: RepairInput;
  /** The events, in order. They come while the calls run, so that some are read after a call has failed. */
  readonly raises: readonly RepairRaise[];
  /** Ends the instance from outside, once. */
  readonly stop: { readonly kind: "cancel" | "terminate"; readonly atMs: number } | null;
  /** Whether the operator forks the instance after its first end. The fork is repaired too. */
  readonly forks: boolean;
}

const JOBS_MAX = 3;
const STAGES_MAX = 3;
const CALLS_MAX = 4;

export function drawRepairJobs(random: SeededRandom, frame: PlanFrame): readonly RepairJob[] {
  return Array.from({ length: random.between(1, JOBS_MAX) }, (_, index) =>
    drawRepairJob(random.of(`repair ${index}`), `repaired-${index + 1}`, frame),
  );
}

function drawRepairJob(random: SeededRandom, id: string, frame: PlanFrame): RepairJob {
  const { unitMs, calmAtMs } = frame;
  const startAtMs = random.below(calmAtMs / 3);
  let names = 0;
  const stages = drawStages(random, unitMs, () => `${id}.event${++names}`, 1);
  let atMs = startAtMs;
  const raises = stages.flatMap(eventsIn).map((name, value) => {
    atMs += random.below(6 * unitMs);
    return { name, value, atMs };
  });
  const stopAtMs = startAtMs + random.below(calmAtMs / 2);
  const stop = random.likely(0.4)
    ? { kind: random.pick(["cancel", "terminate"] as const), atMs: stopAtMs }
    : null;
  return {
    ...{ id, startAtMs, raises, stop },
    slot: random.below(frame.workers.length + frame.clients),
    input: { stages, perExecution: random.pick([null, null, 1]) },
    // The inbox of the source is not copied, so its fork would wait for events forever.
    forks: raises.length === 0 && random.likely(0.5),
  };
}

function drawStages(
  random: SeededRandom,
  unitMs: number,
  name: () => string,
  depth: number,
): readonly RepairStage[] {
  const call = (): RepairCall => {
    const fragile = {
      salt: random.below(1_000_000),
      ms: random.below(2 * unitMs),
      fails: random.pick([0, 0, 1, 1, 2]),
    };
    switch (random.pick(["work", "work", "step", "event", "sleep", "child"] as const)) {
      case "work":
        return { op: "work", ...fragile };
      case "step":
        return { op: "step", ...fragile };
      case "event":
        return depth === 0 ? { op: "work", ...fragile } : { op: "event", name: name() };
      case "sleep":
        return { op: "sleep", ms: random.below(4 * unitMs) };
      case "child":
        if (depth === 0) return { op: "step", ...fragile };
        return { op: "child", stages: drawStages(random, unitMs, name, depth - 1) };
    }
  };
  return Array.from({ length: random.between(1, STAGES_MAX) }, () => ({
    how: random.pick(["settled", "settled", "all"] as const),
    calls: Array.from({ length: random.between(1, CALLS_MAX) }, call),
  }));
}

function eventsIn({ calls }: RepairStage): readonly string[] {
  return calls.flatMap((call) => (call.op === "event" ? [call.name] : []));
}

/** The longest time that the job takes without faults. */
export function repairMs({ input, startAtMs, stop }: RepairJob, unitMs: number): number {
  const callMs = (call: RepairCall): number => {
    if (call.op === "event") return 6 * unitMs;
    if (call.op === "sleep") return call.ms;
    if (call.op === "child") return stagesMs(call.stages);
    return (call.fails + 1) * (call.ms + 20 * unitMs);
  };
  const stagesMs = (stages: readonly RepairStage[]): number =>
    stages.flatMap(({ calls }) => calls).reduce((sum, call) => sum + callMs(call), 0);
  return 2 * (stagesMs(input.stages) + 40 * unitMs) + startAtMs + (stop?.atMs ?? 0);
}

/** Smaller jobs, for the minimizer. */
export function* smallerRepairs(job: RepairJob): Iterable<RepairJob> {
  const { input } = job;
  const withStages = (stages: readonly RepairStage[]): RepairJob => {
    const names = new Set(stages.flatMap(eventsIn));
    const raises = job.raises.filter(({ name }) => names.has(name));
    return { ...job, input: { ...input, stages }, raises };
  };
  for (const [index, stage] of input.stages.entries()) {
    if (input.stages.length > 1) yield withStages(input.stages.toSpliced(index, 1));
    for (const place of stage.calls.keys()) {
      if (stage.calls.length === 1) continue;
      const smaller = { ...stage, calls: stage.calls.toSpliced(place, 1) };
      yield withStages(input.stages.with(index, smaller));
    }
  }
  if (job.stop !== null) yield { ...job, stop: null };
  if (job.forks) yield { ...job, forks: false };
  if (input.perExecution !== null) yield { ...job, input: { ...input, perExecution: null } };
}
