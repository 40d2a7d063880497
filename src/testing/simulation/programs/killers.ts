// Killers: instances whose turn or step ends its process whenever it runs.
//   - killers.1: At the end of the run a killer is quarantined, unless it was stopped or a deployment fixed
//        its code.
//   - killers.2: The crash count of a killer is never reset, so a killer ends a bounded number of processes.
//   - killers.3: An operator unblocks some killers once. After a fix the operator unblocks a killer as
//        often as needed: faults may end the processes that try the new code. The run lasts until these
//        unblocks are done.

import type { BlockReason } from "../../../core/history/block.ts";
import type { InstanceRecord } from "../../../core/provider/instances.ts";
import type { EndOfRun } from "../world/workload.ts";
import type { Job } from "./jobs.ts";
import { partsOf, type Program } from "./program.ts";

type Kill = Extract<Program, { op: "kill" }>;
interface Killer {
  readonly job: Job;
  /** The id of the instance that runs the code: the root instance of the job, or a child. */
  readonly instance: string;
  readonly kill: Kill;
}

/**
 * The maximum number of crashes by one killer, and how many an unblock may add: one with each deployed code.
 * A crash while other suspects ran does not count for the killer (decision 0021). One seed of 20,000 had 27
 * crashes, with a single worker and an activity that ends its process.
 */
const DEATHS_MAX = 40;
const DEATHS_AFTER_UNBLOCK = 2;

/** The killers of one run, with the crashes and unblocks of each. */
export class Killers {
  readonly #killers: ReadonlyMap<string, Killer>;
  readonly #deaths = new Map<string, number>();
  readonly #unblocked = new Map<string, number>();
  /** Ids of jobs with a quarantined instance. */
  readonly #quarantined = new Set<string>();
  /** The newest deployment. */
  generation = 1;

  constructor(jobs: readonly Job[]) {
    const killers = jobs.flatMap(killsIn);
    this.#killers = new Map(killers.map((killer) => [killer.instance, killer]));
  }

  get count(): number {
    return this.#killers.size;
  }

  died(instance: string): void {
    this.#deaths.set(instance, (this.#deaths.get(instance) ?? 0) + 1);
  }

  /** Whether the current code of this job ends its process. */
  isKiller(job: Job): boolean {
    return killsIn(job).some(({ kill }) => this.#kills(kill));
  }

  /** Whether the instance may still be waiting: a killer in quarantine, or the parent of one. */
  mayWait(record: Pick<InstanceRecord, "id" | "blocked">): boolean {
    const killer = this.#killers.get(record.id);
    if (killer === undefined) return this.#quarantined.has(record.id);
    if (!isQuarantined(record) || this.#isDue(killer)) return false;
    this.#quarantined.add(killer.job.id);
    return true;
  }

  /** killers.3 */
  quarantine({ id }: Pick<InstanceRecord, "id">): "unblock" | "leave" | null {
    const killer = this.#killers.get(id);
    if (killer === undefined) return null;
    if (!this.#isDue(killer)) return "leave";
    this.#unblocked.set(id, (this.#unblocked.get(id) ?? 0) + 1);
    return "unblock";
  }

  check(end: EndOfRun): void {
    for (const [id, killer] of this.#killers) {
      this.#checkDeaths(id, end); // killers.2
      if (this.#kills(killer.kill)) this.#checkEnd(killer, end); // killers.1
    }
  }

  #checkDeaths(id: string, end: EndOfRun): void {
    const deaths = this.#deaths.get(id) ?? 0;
    const most = DEATHS_MAX + DEATHS_AFTER_UNBLOCK * (this.#unblocked.get(id) ?? 0);
    if (deaths > most) end.report(`${id} ended ${deaths} processes; at most ${most} are allowed`);
  }

  #checkEnd({ job, instance }: Killer, end: EndOfRun): void {
    const record = end.instances.get(instance)?.record;
    if (record === undefined) return end.report(`${instance} does not exist`);
    const isStopped = job.controls.some(({ kind }) => kind === "cancel" || kind === "terminate");
    if (isStopped && (record.status === "cancelled" || record.status === "terminated")) return;
    if (isQuarantined(record)) return;
    end.report(`${instance} ends its process, but is ${record.status} instead of quarantined`);
  }

  /** Whether the operator must still unblock the killer (killers.3). */
  #isDue({ instance, kill }: Killer): boolean {
    return !this.#kills(kill) || (kill.salt % 2 === 0 && !this.#unblocked.has(instance));
  }

  #kills({ fixed }: Kill): boolean {
    return !fixed || this.generation === 1;
  }
}

/** The parts of a job that end their process. */
export function killsIn(job: Job): readonly Killer[] {
  const inside = (program: Program, instance: string): readonly Killer[] => {
    if (program.op === "kill") return [{ job, instance, kill: program }];
    const where = program.op === "child" && program.id !== null ? program.id : instance;
    return partsOf(program).flatMap((part) => inside(part, where));
  };
  return job.input.rounds.flatMap((round) => inside(round, job.id));
}

function isQuarantined({ blocked }: Pick<InstanceRecord, "blocked">): boolean {
  return blocked !== null && (JSON.parse(blocked) as BlockReason).code === "QUARANTINE";
}
