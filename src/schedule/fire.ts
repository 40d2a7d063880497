// Fire: the activity that starts a run.
//   FI1. A run's id is the schedule's name and its time: however often an attempt is repeated, a time has one run.
//   FI2. A trigger starts whatever else is going on: somebody asked for it.
//   FI3. Of the schedule's own executions the last few are kept: it lives for years, and its runs are what matters.

import type { Client } from "../client/client.ts";
import type { ActivityContext } from "../core/activity-context.ts";
import { activity, type Activity, type Orchestration } from "../core/definitions.ts";
import { isPerdureError } from "../core/errors.ts";
import { isTerminalStatus } from "../core/provider/index.ts";
import type { FireRequest } from "./loop.ts";
import type { Fired } from "./state.ts";

/** What a schedule starts. */
export interface RunTarget {
  /** The schedule's name. */
  readonly schedule: string;
  readonly start: Orchestration<never, unknown, unknown>;
  readonly input: (time: Date) => unknown;
}

const EXECUTIONS_KEPT = 10;

export function fireActivity(target: RunTarget): Activity<FireRequest, Fired> {
  const { schedule } = target;
  const start = target.start as Orchestration<unknown, unknown>; // `schedule` had the compiler compare the input
  const fire = async (request: FireRequest, { client, info }: ActivityContext): Promise<Fired> => {
    const { time, trigger, overlap, run } = request;
    await client.prune(info.instanceId, { keepLast: EXECUTIONS_KEPT });
    if (trigger === null && overlap !== "allow" && run !== null && (await isLive(client, run))) {
      if (overlap === "skip") return { time, outcome: "skipped", id: run };
      await cancelRun(client, run, `the next run of "${schedule}" is due`);
    }
    const id = `${schedule}/${time.toISOString()}${trigger === null ? "" : `-trigger-${trigger}`}`;
    const attributes = { schedule };
    const options = { id, onConflict: "useExisting", attributes } as const;
    await client.start(start, await target.input(time), options);
    return { time, outcome: "started", id };
  };
  return activity(`${schedule}/fire`, fire, { executor: "process" });
}

async function isLive(client: Client, id: string): Promise<boolean> {
  const record = await client.provider.readInstance(id);
  return record !== null && !isTerminalStatus(record.status);
}

async function cancelRun(client: Client, id: string, reason: string): Promise<void> {
  try {
    await client.get(id).cancel({ reason, by: "schedule" });
  } catch (error) {
    const isGone =
      isPerdureError(error, "INSTANCE_FINISHED") || isPerdureError(error, "INSTANCE_NOT_FOUND");
    if (!isGone) throw error;
  }
}
