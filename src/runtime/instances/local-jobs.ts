// Local jobs: jobs that this process enqueues and this runtime runs at once. The commit that inserts the job also leases
// its activity to this runtime, if a slot is free and no other task waits (PreLeases).

import { ChurningMap } from "../../core/collections/churning-map.ts";
import type { StartItem, StartResult, TurnItem } from "../../core/provider/commit.ts";
import type { LeasedTask, NewTask } from "../../core/provider/tasks.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import { defined } from "../../core/values/defined.ts";
import { PreLeases } from "../attempts/pre-leased-tasks.ts";
import type { RuntimeContext } from "../context.ts";

/** The start of a job that brings its first turn (commit.6). */
export type JobStart = StartItem & { readonly firstTurn: TurnItem; readonly lease: null };

export function isJobStart(item: StartItem): item is JobStart {
  return item.lease === null && item.firstTurn !== undefined;
}

export class LocalJobs {
  readonly #runtime: RuntimeContext;
  /** The pre-leases of starts without a result, by the token of the task. */
  readonly #reserved = new ChurningMap<number, PreLeases>();

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** The start with a lease of its task; null: the task goes to the queue. */
  lease(start: JobStart): JobStart | null {
    const [task] = start.firstTurn.tasks;
    if (task === undefined) return null;
    const preLeases = new PreLeases(this.#runtime);
    const { name, session, tags } = task;
    const lease = preLeases.leaseFor({
      name,
      ...(session === null ? {} : { session }),
      ...(tags === null ? {} : { tags }),
    });
    if (lease === null) return null;
    this.#reserved.set(lease.token, preLeases);
    return { ...start, firstTurn: { ...start.firstTurn, tasks: [{ ...task, lease }] } };
  }

  /** Begins the activity if the store has written the job with its task. */
  settled(start: JobStart, result: StartResult): void {
    const [task] = start.firstTurn.tasks;
    if (task === undefined || task.lease === null) return;
    const preLeases = this.#reserved.get(task.lease.token);
    this.#reserved.delete(task.lease.token);
    if (result.kind !== "started" || result.due === undefined) return preLeases?.takeBack();
    const { activities, sessions } = this.#runtime;
    activities.unreserve(1);
    activities.start(leasedTask(start, result.key, task, task.lease));
    if (task.session !== null) sessions.leave(task.session); // it was counted when it was reserved
  }

  /** The tokens of tasks whose insert has no reply yet. */
  get expected(): Iterable<number> {
    return this.#reserved.keys();
  }
}

function leasedTask(
  { id, runId, name }: JobStart,
  key: number,
  task: NewTask,
  { token, sessionClaim }: NonNullable<NewTask["lease"]>,
): LeasedTask {
  const { sequence, input, options, session, tags, priority, queueKey } = task;
  return {
    sequence,
    name: task.name,
    input,
    options,
    session,
    tags,
    priority,
    ...defined({ queueKey }),
    key,
    execution: 1,
    token,
    instanceId: id,
    runId,
    orchestration: name,
    orchestrationVersion: JOB_VERSION,
    attempt: 0,
    deaths: 0,
    suspect: false,
    heartbeat: null,
    ...(sessionClaim === undefined ? {} : { sessionClaim }),
  };
}
