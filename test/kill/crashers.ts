// Crashers: instances with a turn, a step or an activity that ends its process every time it runs (decision 0021).
//   CR1. A turn or a step of this sort must end in quarantine, an activity as poison. Every other instance is innocent.
//   CR2. A crasher logs each death right before it, so that the audit can tell it from a crash of the engine.

import { setTimeout as pause } from "node:timers/promises";
import {
  activity,
  ActivityError,
  orchestration,
  type Activity,
  type Orchestration,
} from "../../src/index.ts";
import { CRASH_CODE } from "./fleet.ts";
import { mix, type Job } from "./jobs.ts";
import type { Work } from "./orchestrations.ts";
import type { RunLog } from "./run-log.ts";

export const CRASHER_KINDS = ["turn", "step", "activity"] as const;
export type CrasherKind = (typeof CRASHER_KINDS)[number];

const PREFIX = "crasher-";
/** What the instance of a crashing activity returns once the activity is given up. */
export const POISONED = "poison";

export function crasherId(kind: CrasherKind, number: number): string {
  return `${PREFIX}${kind}-${number}`;
}

/** The kind of crasher that has this id; undefined: the instance is innocent. */
export function crasherKind(id: string): CrasherKind | undefined {
  return CRASHER_KINDS.find((kind) => id.startsWith(`${PREFIX}${kind}-`));
}

/** An odd seed does ordinary work first, so that the crash comes after events. */
export function defineCrashers(work: Activity<Work, number>, log: RunLog | null) {
  const turn = orchestration("crashing turn", async (ctx, { seed, ms }: Job) => {
    if (seed % 2 === 1) await ctx.run(work, { seed, salt: 0, ms });
    crash(log, ctx.info.instanceId, seed);
  });

  const step = orchestration("crashing step", async (ctx, { seed, ms }: Job) => {
    if (seed % 2 === 1) await ctx.run(work, { seed, salt: 0, ms });
    await ctx.step("crash", async () => {
      await pause(ms);
      crash(log, ctx.info.instanceId, seed);
    });
  });

  const crashing = activity("crash", async ({ seed, ms }: Job, { info }) => {
    await pause(ms);
    crash(log, info.instanceId, seed);
  });
  const caller = orchestration("crashing activity", async (ctx, { seed, ms }: Job) => {
    if (seed % 2 === 1) await ctx.run(work, { seed, salt: 0, ms });
    try {
      return await ctx.run(crashing, { seed, ms });
    } catch (error) {
      return error instanceof ActivityError ? error.kind : "no error of an activity";
    }
  });

  const byKind: Readonly<Record<CrasherKind, Orchestration<Job, unknown>>> = {
    ...{ turn, step, activity: caller },
  };
  return { byKind, register: [crashing, ...Object.values(byKind)] };
}

/** Ends the process: by its own exit, or by a signal, as the kernel does when memory runs out. */
function crash(log: RunLog | null, instance: string, seed: number): never {
  log?.append({ what: "crash", instance });
  if (mix(seed, 1) % 2 === 0) process.exit(CRASH_CODE);
  process.kill(process.pid, "SIGKILL");
  throw new Error("The process survived SIGKILL.");
}
