// Job ends: the last turn of a job. The worker that completed the activity of a job ends the job without leasing its
// instance, so a job takes two commits from enqueue to done (job-code.2).
//   - job-ends.1: The store refuses the turn if anything else has happened to the instance: a message, a lease, a pause
//     (commit.7). The outcome then goes to the inbox, and the job's code runs like any other code.
//   - Only a success takes this path. A failure goes to the inbox, where the job's code fails with it.

import type { ActivityCompleted } from "../../core/history/events.ts";
import { encodeRow } from "../../core/history/rows.ts";
import { REPLAY_VERSION } from "../../core/history/replay-version.ts";
import { sealRow } from "../../core/history/seal.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import { JOB_CALL, jobLastEvents } from "../../core/replay/job-code.ts";
import { defined } from "../../core/values/defined.ts";
import type { RuntimeContext } from "../context.ts";

/** Whether the task is the activity of a job. */
export function isJobTask({ orchestrationVersion, sequence }: LeasedTask): boolean {
  return orchestrationVersion === JOB_VERSION && sequence === JOB_CALL;
}

/** Returns false if the outcome must go to the inbox (job-ends.1). */
export async function endJob(
  runtime: RuntimeContext,
  task: LeasedTask,
  outcome: ActivityCompleted,
): Promise<boolean> {
  const { committer, registry, options, stats, storeNow, newToken } = runtime;
  const at = storeNow();
  const events = jobLastEvents(outcome);
  const { key, execution, instanceId: id, runId } = task;
  const first = JOB_CALL + 1;
  const last = JOB_CALL + events.length;
  const row = { first, last, data: encodeRow(at, events) };
  const keepMs = registry.activity(task.name)?.keepMs?.completed;
  const item: TurnItem = {
    kind: "turn",
    commitId: newToken(),
    key,
    execution,
    token: 0,
    isUnleased: true,
    lastEvent: JOB_CALL,
    version: null,
    replayVersion: REPLAY_VERSION,
    row: sealRow(row, { id, runId, execution }, options.codec.rowSeal),
    consumed: [],
    finished: [task],
    tasks: [],
    cancelledTasks: [],
    timers: [],
    cancelledTimers: [],
    starts: [],
    sends: [],
    change: {
      kind: "ended",
      status: "completed",
      output: outcome.output,
      error: null,
      ...defined({ keepMs }),
    },
    state: null,
    cancelRequested: null,
    stepsOpen: false,
    release: true,
    messagesMax: 0,
  };
  const result = await committer.submit(item);
  if (result.kind !== "committed") return false;
  stats.turns++;
  stats.countTurn(events);
  options.telemetry?.turn({
    orchestration: task.orchestration,
    version: JOB_VERSION,
    instanceId: id,
    execution,
    events,
    replayed: 0,
    historyLength: last,
    startedAt: task.availableAt ?? at,
    at,
    traceParent: task.options?.traceParent,
  });
  return true;
}
