// Fire: the activity that starts a run of a schedule.
//   - The id of a run consists of the schedule's name and the scheduled time. Repeated attempts therefore
//        start one run per time.
//   - A trigger always starts a run; the overlap policy does not apply.
//   - The activity prunes the schedule's own executions to the last few: a schedule may run for years.

import type { Client } from "../client/client.ts";
import type { ActivityContext } from "../core/context/activity-context.ts";
import type { ContextInput } from "../core/context/app-types.ts";
import { activity, type Activity, type Orchestration } from "../core/define/definitions.ts";
import { isPerdureError } from "../core/errors/errors.ts";
import { isTerminalStatus } from "../core/provider/index.ts";
import type { FireRequest } from "./loop.ts";
import type { Fired } from "./state.ts";

/** The orchestration that a schedule starts, and its input. */
export interface RunTarget {
  /** The schedule's name. */
  readonly schedule: string;
  readonly start: Orchestration<never, unknown, unknown>;
  readonly input: (time: Date) => unknown;
  /** The context of its runs. A change of the definition takes effect with the next run, like that of the input. */
  readonly context: ContextInput;
}

const EXECUTIONS_KEPT = 10;

export function fireActivity(target: RunTarget): Activity<FireRequest, Fired> {
  const { schedule, context } = target;
  const start = target.start as Orchestration<unknown, unknown>; // `schedule` has checked the input's type.
  const fire = async (request: FireRequest, { client, info }: ActivityContext): Promise<Fired> => {
    const { time, trigger, overlap, run } = request;
    await client.prune(info.instanceId, { keepLast: EXECUTIONS_KEPT });
    if (trigger === null && overlap !== "allow" && run !== null && (await isLive(client, run))) {
      if (overlap === "skip") return { time, outcome: "skipped", id: run };
      await cancelRun(client, run, `the next run of "${schedule}" is due`);
    }
    const id = `${schedule}/${time.toISOString()}${trigger === null ? "" : `-trigger-${trigger}`}`;
    const attributes = { schedule };
    const options = { id, onConflict: "useExisting", attributes, context } as const;
    await client.withoutMiddleware().start(start, await target.input(time), options);
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
