// Random programs: a workload of several jobs, each with a random program and a computed expected result.

import type { Hand, Script, Workload } from "../world/workload.ts";
import type { FaultKind } from "../world/faults.ts";
import { Machine } from "../world/machine.ts";
import { POISON_DEATHS } from "../scenario.ts";
import type { ExpectedFrame } from "./expected.ts";
import type { ExtraOperation } from "./extra-operation.ts";
import { definitions, type StageOptions } from "./interpreter.ts";
import { runtimeOfRepairs } from "../../../core/repair/repair-calls.ts";
import { checkRepair } from "./repairs/check.ts";
import { Fragility, repairDefinitions } from "./repairs/code.ts";
import { drawRepairJobs, repairMs, smallerRepairs, type RepairJob } from "./repairs/plan.ts";
import { RepairScript } from "./repairs/script.ts";
import { drawJob, MAY_LOSE_OWNER } from "./draw-job.ts";
import { drawActor, drawLargeJob } from "./draw-actor.ts";
import { drawAskJobs } from "./draw-asks.ts";
import { drawKiller } from "./draw-killer.ts";
import { drawStreamJobs } from "./draw-streams.ts";
import { checkCallbacks } from "./callbacks/check.ts";
import { CallerScript } from "./callbacks/caller-script.ts";
import { drawCallbackJobs } from "./callbacks/draw.ts";
import { Outside } from "./callbacks/outside.ts";
import { JobScript } from "./job-script.ts";
import { isServer, smallerJobs, type Job } from "./jobs.ts";
import { checkJob } from "./check-job.ts";
import { checkServer } from "./check-server.ts";
import { checkStreams } from "./check-streams.ts";
import { Killers } from "./killers.ts";
import { partsOf, type Program } from "./program.ts";

/** The jobs of one run. */
export interface ProgramsPlan {
  readonly jobs: readonly Job[];
  /** Instances that fail until an operator has repaired them. Absent: there are none. */
  readonly repairs?: readonly RepairJob[];
}

const JOBS_MIN = 3;
const JOBS_MAX = 9;
/**
 * The share of runs with poison in which some instances end their process, and the number of these
 * instances.
 */
const KILLERS_SHARE = 0.3;
const KILLERS_MAX = 3;
/** The share of runs with an actor, and the share with large values. */
const ACTORS_SHARE = 0.05;
const LARGE_SHARE = 0.05;
/** The share of runs with servers and instances that ask them. */
const ASKS_SHARE = 0.2;
/** The share of runs with instances that write to streams. */
const STREAMS_SHARE = 0.2;
/** The share of runs with instances that wait for calls from outside. */
const CALLBACKS_SHARE = 0.2;

/** The share of runs with instances that an operator repairs. */
const REPAIRS_SHARE = 0.25;

/** A workload of random programs with known results. Perdure is tested with it. */
export function programs(
  options: { readonly extras?: readonly ExtraOperation[] } = {},
): Workload<ProgramsPlan> {
  const { extras = [] } = options;
  const extra = (name: string): ExtraOperation => {
    const found = extras.find((each) => each.name === name);
    if (found === undefined) throw new Error(`Unknown operation "${name}".`);
    return found;
  };
  return {
    name: "programs",
    plan(random, frame) {
      const count = random.between(JOBS_MIN, JOBS_MAX);
      const job = (_: unknown, index: number): Job =>
        drawJob(random.of(`job ${index}`), `job-${index + 1}`, frame, extras);
      const ordinary = Array.from({ length: count }, job);
      // Separate streams: seeds that have found bugs keep their other jobs.
      const actors = random.of("actors");
      const large = random.of("large");
      const asks = random.of("asks");
      const streams = random.of("streams");
      const callbacks = random.of("callbacks");
      const jobs = [
        ...ordinary,
        ...(actors.likely(ACTORS_SHARE) ? [drawActor(actors, "actor-1", frame)] : []),
        ...(large.likely(LARGE_SHARE) ? [drawLargeJob(large, "large-1", frame)] : []),
        ...(asks.likely(ASKS_SHARE) ? drawAskJobs(asks, frame) : []),
        ...(streams.likely(STREAMS_SHARE) ? drawStreamJobs(streams, frame) : []),
        ...(callbacks.likely(CALLBACKS_SHARE) ? drawCallbackJobs(callbacks, frame) : []),
      ];
      const repairing = random.of("repairs");
      const repairs = repairing.likely(REPAIRS_SHARE)
        ? { repairs: drawRepairJobs(repairing, frame) }
        : {};
      const killers = random.of("killers");
      if (!frame.faults.includes("poison") || !killers.likely(KILLERS_SHARE)) {
        return { jobs, ...repairs };
      }
      const killer = (_: unknown, index: number): Job =>
        drawKiller(killers.of(`killer ${index}`), `killer-${index + 1}`, frame);
      return {
        jobs: [...jobs, ...Array.from({ length: killers.between(1, KILLERS_MAX) }, killer)],
        ...repairs,
      };
    },
    *smaller(plan) {
      const { jobs, repairs = [] } = plan;
      for (const index of repairs.keys()) yield { ...plan, repairs: repairs.toSpliced(index, 1) };
      for (const index of jobs.keys()) {
        if (jobs.length + repairs.length > 1) yield { ...plan, jobs: jobs.toSpliced(index, 1) };
      }
      for (const [index, job] of jobs.entries()) {
        for (const smaller of smallerJobs(job)) yield { ...plan, jobs: jobs.with(index, smaller) };
      }
      for (const [index, repair] of repairs.entries()) {
        for (const smaller of smallerRepairs(repair)) {
          yield { ...plan, repairs: repairs.with(index, smaller) };
        }
      }
    },
    begin({ plan, unitMs, faults }) {
      const scripts = new Map(plan.jobs.map((job) => [job, new JobScript(job)]));
      const outside = new Outside();
      const { repairs = [] } = plan;
      const fragility = new Fragility();
      const operators = new Map(repairs.map((job) => [job, new RepairScript(job)]));
      const isMixed = faults.kinds.includes("deploy");
      const killers = new Killers(plan.jobs);
      const servers = new Set(plan.jobs.filter(isServer).map(({ id }) => id));
      const killing = killers.count + plan.jobs.reduce((sum, job) => sum + poisonIn(job), 0);
      const frame: ExpectedFrame = {
        mayPoison: mayPoison(faults.kinds, killing),
        mayStall: faults.kinds.includes("pause"),
        extra: (name, data) => extra(name).expected(data),
      };
      return {
        scripts: [
          ...[...scripts].map(([job, script]) => ({
            name: job.id,
            slot: job.slot,
            run: (hand: Hand) => script.run(hand),
          })),
          ...plan.jobs.flatMap((job) => callerScripts(job, outside)),
          ...[...operators].map(([{ id: name, slot }, script]) => ({
            ...{ name, slot, run: (hand: Hand) => script.run(hand) },
          })),
        ],
        // Without callbacks a process makes one call fewer: seeds that have found bugs keep their traces.
        hasCallbacks: plan.jobs.some(({ callers }) => callers !== undefined),
        register: (process) => {
          killers.generation = Math.max(killers.generation, process.generation);
          const recordStep: StageOptions["recordStep"] = (entry, run) =>
            process instanceof Machine
              ? process.record({ kind: "step", ...entry }, run)
              : new Promise<never>(() => undefined);
          const own = repairs.length === 0 ? [] : repairDefinitions(process, fragility, recordStep);
          const ordinary = definitions({
            process,
            unitMs,
            extras,
            outside,
            onKill: (instance) => {
              if (process instanceof Machine && process.isAlive) killers.died(instance);
            },
            recordStep,
          });
          return [...ordinary, ...own];
        },
        // A repair that was handed to a worker waits forever if both the worker and the client crash.
        mayWait: (record) =>
          killers.mayWait(record) ||
          servers.has(record.id) ||
          runtimeOfRepairs(record.name) !== null,
        quarantine: (record) => killers.quarantine(record),
        killers: killing,
        // The sum: with a single slot all jobs run one after another.
        longestMs:
          plan.jobs.reduce((sum, job) => sum + jobMs(job, unitMs, extra), 0) +
          repairs.reduce((sum, job) => sum + repairMs(job, unitMs), 0),
        mayBlock: (_, code) => code === "NONDETERMINISM" && isMixed,
        async check(end) {
          killers.check(end);
          for (const id of servers) await checkServer(id, end);
          for (const [job, script] of scripts) {
            if (!killers.isKiller(job) && !isServer(job)) checkJob(job, script, end, frame);
            await checkStreams(job, end);
          }
          for (const [job, script] of operators) checkRepair(job, script, end);
          checkCallbacks(plan.jobs, outside, { end, mayJump: faults.kinds.includes("clock") });
        },
      };
    },
  };
}

/**
 * Whether an activity may fail as poison although it does not end its process. Either faults end the
 * processes that run it alone, or many killers each end such a process once, before the killer becomes a
 * suspect.
 */
function mayPoison(kinds: readonly FaultKind[], killing: number): boolean {
  const mayRob = kinds.some((kind) => kind !== "poison" && MAY_LOSE_OWNER.includes(kind));
  return kinds.includes("poison") && (mayRob || killing >= POISON_DEATHS);
}

function callerScripts({ id, callers = [] }: Job, outside: Outside): readonly Script[] {
  return callers.map((caller, index) => {
    const script = new CallerScript(id, caller, outside);
    const name = `${id} caller ${index + 1}`;
    return { name, slot: caller.slot, run: (hand) => script.run(hand) };
  });
}

function poisonIn({ input, restarts }: Job): number {
  const inside = (program: Program): number =>
    (program.op === "poison" ? 1 : 0) +
    partsOf(program).reduce((sum, part) => sum + inside(part), 0);
  return input.rounds.reduce((sum, round) => sum + inside(round), 0) * (restarts ? 2 : 1);
}

function jobMs(job: Job, unitMs: number, extra: (name: string) => ExtraOperation): number {
  const own = job.input.rounds.reduce((sum, round) => sum + programMs(round, unitMs, extra), 0);
  const last = Math.max(job.startAtMs, ...job.controls.map(({ atMs }) => atMs));
  const calls = (job.callers ?? []).flatMap((caller) => caller.calls);
  const calling = calls.reduce((sum, { afterMs }) => sum + afterMs, 0);
  return (own + last + calling + (job.delayMs ?? 0)) * (job.restarts ? 2 : 1);
}

/** The time of the program if all its parts run one after another. */
function programMs(
  program: Program,
  unitMs: number,
  extra: (name: string) => ExtraOperation,
): number {
  const parts = partsOf(program).reduce((sum, part) => sum + programMs(part, unitMs, extra), 0);
  if (program.op === "poison" || program.op === "kill") return 200 * unitMs;
  if (program.op === "mailbox") return (program.count + 5) * unitMs;
  if (program.op === "spin") return (program.times + 5) * unitMs;
  if (program.op === "extra") return extra(program.name).longestMs(program.data);
  const isLong = "against" in program || "loser" in program;
  const waits = "timeoutMs" in program ? (program.timeoutMs ?? 0) : 0;
  const own = waits + (isLong ? 60 * unitMs : "ms" in program ? program.ms : 0);
  const again =
    program.op === "later" ? program.attempts : "fails" in program ? program.fails + 1 : 1;
  return parts + again * (own + 5 * unitMs);
}
