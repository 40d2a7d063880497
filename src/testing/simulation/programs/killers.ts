// Killers: instances whose turn or step ends its process, whenever it runs.
//   KI1. In the end a killer is quarantined, unless it was stopped or a deployment has fixed its code.
//   KI2. The count of a killer never begins again: it ends a bounded number of processes.
//   KI3. An operator unblocks some of them once. After a fix an operator unblocks as often as it takes: faults may have
//        ended the processes that tried the new code. The run goes on until these unblocks are done.

import type { BlockReason } from "../../../core/block.ts";
import type { InstanceRecord } from "../../../core/provider/instances.ts";
import type { EndOfRun } from "../workload.ts";
import type { Job } from "./jobs.ts";
import { partsOf, type Program } from "./program.ts";

type Kill = Extract<Program, { op: "kill" }>;
interface Killer {
  readonly job: Job;
  /** The instance that runs the code: the job's, or a child's. */
  readonly instance: string;
  readonly kill: Kill;
}

/**
 * Deaths of processes that one killer may cause, and those that an unblock may add: one under each code. Next to other
 * suspects a death does not count (0021). One seed of 20,000 had 27 deaths, with a single worker and a killing activity.
 */
const DEATHS_MAX = 40;
const DEATHS_AFTER_UNBLOCK = 2;

/** The killers of one run, and what they have done. */
export class Killers {
  readonly #killers: ReadonlyMap<string, Killer>;
  readonly #deaths = new Map<string, number>();
  readonly #unblocked = new Map<string, number>();
  /** Jobs with a quarantined instance. */
  readonly #quarantined = new Set<string>();
  /** The newest code that was deployed. */
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

  /** Whether the code of this job still ends its process. */
  isKiller(job: Job): boolean {
    return killsIn(job).some(({ kill }) => this.#kills(kill));
  }

  /** A killer waits in quarantine, and the parent of one waits for it. */
  mayWait(record: Pick<InstanceRecord, "id" | "blocked">): boolean {
    const killer = this.#killers.get(record.id);
    if (killer === undefined) return this.#quarantined.has(record.id);
    if (!isQuarantined(record) || this.#isDue(killer)) return false;
    this.#quarantined.add(killer.job.id);
    return true;
  }

  /** KI3 */
  quarantine({ id }: Pick<InstanceRecord, "id">): "unblock" | "leave" | null {
    const killer = this.#killers.get(id);
    if (killer === undefined) return null;
    if (!this.#isDue(killer)) return "leave";
    this.#unblocked.set(id, (this.#unblocked.get(id) ?? 0) + 1);
    return "unblock";
  }

  judge(end: EndOfRun): void {
    for (const [id, killer] of this.#killers) {
      this.#judgeDeaths(id, end); // KI2
      if (this.#kills(killer.kill)) this.#judgeEnd(killer, end); // KI1
    }
  }

  #judgeDeaths(id: string, end: EndOfRun): void {
    const deaths = this.#deaths.get(id) ?? 0;
    const most = DEATHS_MAX + DEATHS_AFTER_UNBLOCK * (this.#unblocked.get(id) ?? 0);
    if (deaths > most) end.report(`${id} ended ${deaths} processes; ${most} is the most`);
  }

  #judgeEnd({ job, instance }: Killer, end: EndOfRun): void {
    const record = end.instances.get(instance)?.record;
    if (record === undefined) return end.report(`${instance} does not exist`);
    const isStopped = job.controls.some(({ kind }) => kind === "cancel" || kind === "terminate");
    if (isStopped && (record.status === "cancelled" || record.status === "terminated")) return;
    if (isQuarantined(record)) return;
    end.report(`${instance} ends its process and is ${record.status}, not quarantined`);
  }

  /** Whether an operator is still to unblock it (KI3). */
  #isDue({ instance, kill }: Killer): boolean {
    return !this.#kills(kill) || (kill.salt % 2 === 0 && !this.#unblocked.has(instance));
  }

  #kills({ fixed }: Kill): boolean {
    return !fixed || this.generation === 1;
  }
}

/** The code in a job that ends its process. */
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
