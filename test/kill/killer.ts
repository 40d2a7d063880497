// The killer: keeps worker processes running and kills them, one after the other, at moments drawn by lot.
//   K1. Most die at work; some before they are ready, in the middle of opening, taking over or registering; some
//       together with everybody else, so that nobody is left to take over.

import { setTimeout as pause } from "node:timers/promises";
import { chanceOf } from "./chance.ts";
import type { WorkerProcess } from "./fleet.ts";

const DIES_EARLY = 0.1;
const EARLY_MS_MAX = 300;
const DIES_TOGETHER = 0.1;
const LIFE_MS_MIN = 5;
const LIFE_MS_MAX = 700;

export interface KillerOptions {
  readonly kills: number;
  /** Worker processes at a time. */
  readonly workers: number;
  readonly seed: number;
  readonly spawn: () => WorkerProcess;
}

export interface Killed {
  readonly pid: number;
  /** Whether it had begun to take work. */
  readonly atWork: boolean;
}

/** Resolves after the last kill, with nobody left alive. */
export async function killWorkers(options: KillerOptions): Promise<readonly Killed[]> {
  const killed: Killed[] = [];
  const alive = new Set<WorkerProcess>();

  async function kill(worker: WorkerProcess): Promise<void> {
    if (!alive.delete(worker)) return; // somebody else was faster
    killed.push({ pid: worker.pid, atWork: worker.isReady });
    await worker.kill();
  }

  async function slot(number: number): Promise<void> {
    const chance = chanceOf(options.seed * 31 + number);
    while (killed.length < options.kills) {
      const worker = options.spawn();
      alive.add(worker);
      if (chance.happens(DIES_EARLY)) {
        await pause(chance.between(0, EARLY_MS_MAX));
      } else {
        await worker.ready;
        await pause(chance.between(LIFE_MS_MIN, LIFE_MS_MAX));
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
