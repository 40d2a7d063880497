// The killer: keeps worker processes running and kills them, one after the other, at random moments.
//   - Most die while working. Some die before they are ready: while opening, taking over or registering. Some die
//       together with all other workers, so that no worker is left to take over.
//   - A worker's life is measured in runs begun, not in time, so a slow machine makes a run longer but not easier. The
//       kill comes at a random moment after that many runs. A worker that finds no work is killed idle.
//   - killer.1: A process that was ended by its own work is replaced and does not count as a kill.

import { setTimeout as pause } from "node:timers/promises";
import { chanceOf, wholeNumber } from "./chance.ts";
import { until, type WorkerProcess } from "./fleet.ts";

const DIES_EARLY = 0.1;
const EARLY_MS_MAX = 80;
const DIES_TOGETHER = 0.05;
const LAST_MS_MAX = 20;
/** Longer where a worker may need more time to find work: a slow run time on a busy machine. */
const IDLE_MS_MAX = wholeNumber("PERDURE_IDLE_MS") ?? 1_500;

export interface KillerOptions {
  /** Called before each worker starts, with the number of kills so far; true ends the run. */
  readonly isEnough: (kills: number) => boolean;
  /** Worker processes at a time. */
  readonly workers: number;
  readonly seed: number;
  /** The most runs that a worker begins before it is killed. */
  readonly lifeMax: number;
  /** Returns a process that has been sent "go". */
  readonly spawn: () => WorkerProcess;
  readonly onKill?: (killed: Killed, kills: number) => void;
}

export interface Killed {
  readonly pid: number;
  /** Whether the process had reported ready. */
  readonly wasReady: boolean;
  /** By the host's wall clock. */
  readonly at: number;
}

/** Resolves after the last kill, with every process gone. */
export async function killWorkers(options: KillerOptions): Promise<readonly Killed[]> {
  const killed: Killed[] = [];
  const alive = new Set<WorkerProcess>();

  async function kill(worker: WorkerProcess): Promise<void> {
    if (!alive.delete(worker) || worker.hasCrashed) return; // another slot killed it, or killer.1
    const victim: Killed = { pid: worker.pid, wasReady: worker.isReady, at: Date.now() };
    killed.push(victim);
    await worker.kill();
    options.onKill?.(victim, killed.length);
  }

  async function slot(number: number): Promise<void> {
    const chance = chanceOf(options.seed * 31 + number);
    while (!options.isEnough(killed.length)) {
      const goal = chance.between(1, options.lifeMax);
      const worker = options.spawn();
      alive.add(worker);
      if (chance.happens(DIES_EARLY)) {
        await pause(chance.between(0, EARLY_MS_MAX));
      } else {
        await worker.ready;
        const isOver = (): boolean =>
          worker.begun >= goal || !alive.has(worker) || worker.hasCrashed;
        await until("enough work", isOver, IDLE_MS_MAX).catch(() => undefined);
        await pause(chance.between(0, LAST_MS_MAX));
      }
      const doomed = chance.happens(DIES_TOGETHER) ? [...alive] : [worker];
      await Promise.all(doomed.map(kill));
    }
  }

  const slots = Array.from({ length: options.workers }, (_, number) => slot(number));
  try {
    await Promise.all(slots);
  } finally {
    await Promise.all([...alive].map((worker) => worker.kill()));
  }
  return killed;
}
