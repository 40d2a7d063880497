// Crashers: instances whose turn, step or activity ends its process on every run (decision 0021).
//   - A crashing turn or step must end in quarantine, a crashing activity as poison. Every other instance is innocent.
//   - A crasher logs each death just before it, so that the audit can distinguish it from a crash of the engine.

import { setTimeout as pause } from "node:timers/promises";
import {
  activity,
  ActivityError,
  orchestration,
  type Activity,
  type Orchestration,
} from "../../../src/index.ts";
import { CRASH_CODE } from "./fleet.ts";
import { mix, type Job } from "./jobs.ts";
import type { Work } from "./orchestrations.ts";
import type { RunLog } from "./audit/run-log.ts";

export const CRASHER_KINDS = ["turn", "step", "activity"] as const;
export type CrasherKind = (typeof CRASHER_KINDS)[number];

const PREFIX = "crasher-";
/** The result of an instance after its crashing activity was failed as poison. */
export const POISONED = "poison";

export function crasherId(kind: CrasherKind, number: number): string {
  return `${PREFIX}${kind}-${number}`;
}

/** The crasher kind encoded in this id; undefined for an innocent instance. */
export function crasherKind(id: string): CrasherKind | undefined {
  return CRASHER_KINDS.find((kind) => id.startsWith(`${PREFIX}${kind}-`));
}

/** With an odd seed, the crasher runs ordinary work first, so that its history has events before the crash. */
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
      return error instanceof ActivityError ? error.kind : "not an ActivityError";
    }
  });

  const byKind: Readonly<Record<CrasherKind, Orchestration<Job, unknown>>> = {
    ...{ turn, step, activity: caller },
  };
  return { byKind, register: [crashing, ...Object.values(byKind)] };
}

/** Ends the process with process.exit or with SIGKILL, as the kernel does when memory runs out. */
function crash(log: RunLog | null, instance: string, seed: number): never {
  log?.append({ what: "crash", instance });
  if (mix(seed, 1) % 2 === 0) process.exit(CRASH_CODE);
  process.kill(process.pid, "SIGKILL");
  throw new Error("The process survived SIGKILL.");
}
