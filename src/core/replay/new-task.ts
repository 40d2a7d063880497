// New tasks: the task of a scheduled activity, as a turn or the start of a job inserts it.

import { inheritedMembers, type Inherited } from "../context/start-context.ts";
import type { ActivityScheduled } from "../history/events.ts";
import type { NewTask } from "../provider/tasks.ts";
import { defined } from "../values/defined.ts";

/** What a task takes from its instance and from the worker or client that inserts it. */
export interface TaskOrigin {
  readonly priority: number;
  readonly inherited: Inherited;
  /** The weight of its key; undefined: its queue is not fair. */
  readonly weight: number | undefined;
  readonly lease: NewTask["lease"];
  /** As in TaskOptions. */
  readonly keyExecution?: number | undefined;
}

export function newTask(sequence: number, body: ActivityScheduled, origin: TaskOrigin): NewTask {
  const { name, input, session, tags, priority, queueKey } = body;
  const { inherited, weight, lease, keyExecution } = origin;
  const task: NewTask = {
    sequence,
    name,
    input,
    options: taskOptions(body, inherited, keyExecution),
    session: session ?? null,
    tags: tags ?? null,
    priority: priority ?? origin.priority,
    lease,
  };
  if (queueKey === undefined && weight === undefined) return task;
  return { ...task, ...defined({ queueKey, weight }) };
}

/** Null: a call without options. */
function taskOptions(
  body: ActivityScheduled,
  inherited: Inherited,
  keyExecution: number | undefined,
): NewTask["options"] {
  const { retry, timeoutMs, heartbeatTimeoutMs, node, metadata } = body;
  const timed = timeoutMs !== undefined || heartbeatTimeoutMs !== undefined;
  const plain = retry === undefined && !timed && node === undefined && keyExecution === undefined;
  const { traceParent, context } = inherited;
  if (plain && traceParent === undefined && context === undefined) return null;
  return {
    ...inheritedMembers(inherited),
    ...(retry === undefined ? {} : { retry }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeoutMs }),
    ...(node === undefined ? {} : { node }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(keyExecution === undefined ? {} : { keyExecution }),
  };
}
