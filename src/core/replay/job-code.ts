// Job code: the orchestration of every job, and the events that clients and workers write for it.
//   - job-code.1: The instance of a job has the name of its activity and the reserved version JOB_VERSION. Its code is the
//       same for every job: one call of the activity with the input of the instance. So a job is replayed, cancelled,
//       repaired and restarted like any other instance.
//   - job-code.2: The history of a job begins with two events in one row: its start, and the call (JOB_CALL). The client
//       writes them with the start. The worker that completes the call writes the last two. A replay of the code gives the
//       same events.

import { runOf } from "../context/orchestration-context.ts";
import type { OrchestrationContext } from "../context/types.ts";
import type { Activity, Orchestration } from "../define/definitions.ts";
import type {
  ActivityCompleted,
  ActivityScheduled,
  EventBody,
  OrchestrationStarted,
} from "../history/events.ts";
import { JOB_VERSION } from "../ids/semver.ts";
import { callActivity } from "./calls.ts";

/** The event that schedules the activity of a job. */
export const JOB_CALL = 2;

/** The code of all jobs of an activity (job-code.1). */
export function jobOrchestration(
  definition: Activity<never, unknown>,
): Orchestration<never, unknown> {
  const { name, keepMs } = definition;
  const handler = async (ctx: OrchestrationContext): Promise<unknown> => {
    const run = runOf(ctx);
    return callActivity(run, jobCall(definition, run.started));
  };
  return Object.freeze({
    kind: "orchestration",
    name,
    version: JOB_VERSION,
    options: {},
    handler,
    ...(keepMs === undefined ? {} : { keepMs }),
  });
}

/** The call of a job's activity, with the input of the job. */
export function jobCall(
  { name, options }: Pick<Activity<never, unknown>, "name" | "options">,
  { input, queueKey }: Pick<OrchestrationStarted, "input" | "queueKey">,
): ActivityScheduled {
  const key = queueKey === undefined ? {} : { queueKey };
  return { kind: "ActivityScheduled", name, input, ...options, ...key };
}

/** The last events of a job whose activity completed (job-code.2). */
export function jobLastEvents(outcome: ActivityCompleted): readonly EventBody[] {
  return [outcome, { kind: "OrchestrationCompleted", output: outcome.output }];
}
