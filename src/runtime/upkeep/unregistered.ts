// Unregistered work (duroxide's rule, if the option `unregistered` is set): tasks and instances whose
// name no runtime registers fail after a while (semantics 14).
//   - Each task and instance fails by its own waiting time on the store's clock, independent of which
//     runtime checks.
//   - A check handles at most BATCH items. The next check finds the rest.

import { notRegisteredFailure } from "../../core/errors/built-in-failures.ts";
import type { Failure } from "../../core/errors/failure.ts";
import type { OrchestrationFailed } from "../../core/history/events.ts";
import type { WaitingRecord } from "../../core/provider/admin.ts";
import type { ListedInstance } from "../../core/provider/instances.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import { cancelRequest } from "../../core/replay/effects.ts";
import { parseTarget } from "../../core/ids/targets.ts";
import { logFailedInstance } from "../../core/telemetry/failure-lines.ts";
import type { RuntimeContext } from "../context.ts";

const BATCH = 100;
const SESSION_LEASE_MS = 1_000;

/** `waitMs`: how long work may wait for a name that no runtime registers. */
export async function failUnregistered(
  runtime: RuntimeContext,
  waitMs: number,
  kind: WaitingRecord,
  why: string,
): Promise<void> {
  const latest = runtime.storeNow() - waitMs;
  if (kind.oldestAt > latest) return;
  const failure = notRegisteredFailure(why);
  if (kind.kind === "task") await failTasks(runtime, kind.name, latest, failure);
  else await failInstances(runtime, kind.target, latest, failure);
}

async function failTasks(
  runtime: RuntimeContext,
  name: string,
  latest: number,
  failure: Failure,
): Promise<void> {
  const { provider, committer, id: owner, newToken } = runtime;
  const sessions = {
    owner,
    token: newToken(),
    leaseMs: SESSION_LEASE_MS,
    newMax: BATCH,
    inFlight: [],
  };
  const { tasks } = await provider.leaseTasks({
    owner,
    token: newToken(),
    limit: BATCH,
    names: [name],
    tags: "any",
    sessions,
    allowSuspect: true,
  });
  for (const task of tasks) {
    const hasWaited = (await availableAt(runtime, task)) <= latest;
    const { sequence: scheduled, attempt: attempts } = task;
    const body = { kind: "ActivityFailed", scheduled, failure, attempts } as const;
    await committer.submit(
      hasWaited
        ? { kind: "completion", task, outcome: JSON.stringify(body) }
        : { kind: "releaseTask", task },
    );
  }
}

async function availableAt({ provider }: RuntimeContext, task: LeasedTask): Promise<number> {
  const rows = await provider.readTasks(task);
  return rows.find(({ sequence }) => sequence === task.sequence)?.availableAt ?? Infinity;
}

async function failInstances(
  runtime: RuntimeContext,
  target: string,
  latest: number,
  failure: Failure,
): Promise<void> {
  const { provider, committer } = runtime;
  const { name, version } = parseTarget(target);
  const { items } = await provider.listInstances({
    filter: { name, status: ["pending", "running"], ...(version === null ? {} : { version }) },
    order: "oldest",
    limit: BATCH,
    cursor: null,
  });
  const failed: OrchestrationFailed = { kind: "OrchestrationFailed", outcome: "failed", failure };
  for (const record of items) {
    if (record.version !== version || !(await isDueSince(runtime, record, latest))) continue;
    const ended = await committer.submit({
      kind: "terminate",
      id: record.id,
      status: "failed",
      terminated: JSON.stringify(failed),
      childRequest: JSON.stringify(cancelRequest(failure.message, "parent")),
    });
    if (ended.kind === "done") logFailedInstance(runtime, record, failure);
  }
}

async function isDueSince(
  { provider }: RuntimeContext,
  record: ListedInstance,
  latest: number,
): Promise<boolean> {
  if (record.blocked !== null || record.owner !== null) return false;
  const messages = await provider.readInbox(record.key);
  return messages.some(({ visibleAt }) => visibleAt <= latest);
}
