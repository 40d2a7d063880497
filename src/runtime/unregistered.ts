// duroxide's rule, where the options ask for it: work whose name nobody registers fails after a while
// (semantics 14, `unregistered`).
//   UR1. Each task and instance is judged by its own waiting time, by the store's clock, whoever looks.
//   UR2. A bounded number a look; the rest is found by the next one.

import type { Committer } from "../core/committer.ts";
import type { Failure } from "../core/failure.ts";
import type { OrchestrationCancelRequested, OrchestrationFailed } from "../core/history-events.ts";
import type { LogSink } from "../core/log.ts";
import type { WaitingRecord } from "../core/provider/admin.ts";
import type { ListedInstance } from "../core/provider/instances.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import { parseTarget } from "../core/targets.ts";
import { logFailedInstance } from "../core/failure-lines.ts";

const BATCH = 100;
const SESSION_LEASE_MS = 1_000;

export interface UnregisteredFailuresOptions {
  readonly runtimeId: string;
  readonly provider: Provider;
  readonly committer: Committer;
  /** How long work may wait for a name that nobody registers. */
  readonly waitMs: number;
  readonly newToken: () => number;
  readonly log: LogSink;
}

export class UnregisteredFailures {
  readonly #o: UnregisteredFailuresOptions;

  constructor(options: UnregisteredFailuresOptions) {
    this.#o = options;
  }

  async fail(kind: WaitingRecord, why: string): Promise<void> {
    const latest = this.#o.provider.now() - this.#o.waitMs;
    if (kind.oldestAt > latest) return;
    const failure: Failure = {
      category: "configuration",
      name: "NotRegisteredError",
      code: "NOT_REGISTERED",
      message: `unregistered: ${why}`,
      retryable: false,
    };
    if (kind.kind === "task") await this.#failTasks(kind.name, latest, failure);
    else await this.#failInstances(kind.target, latest, failure);
  }

  async #failTasks(name: string, latest: number, failure: Failure): Promise<void> {
    const { provider, committer, runtimeId: owner, newToken } = this.#o;
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
      const hasWaited = (await this.#availableAt(task)) <= latest;
      const { sequence: scheduled, attempt: attempts } = task;
      const body = { kind: "ActivityFailed", scheduled, failure, attempts } as const;
      await committer.submit(
        hasWaited
          ? { kind: "completion", task, outcome: JSON.stringify(body) }
          : { kind: "releaseTask", task },
      );
    }
  }

  async #availableAt(task: LeasedTask): Promise<number> {
    const rows = await this.#o.provider.readTasks(task);
    return rows.find(({ sequence }) => sequence === task.sequence)?.availableAt ?? Infinity;
  }

  async #failInstances(target: string, latest: number, failure: Failure): Promise<void> {
    const { provider, committer } = this.#o;
    const { name, version } = parseTarget(target);
    const { items } = await provider.listInstances({
      filter: {
        name,
        status: ["pending", "running"],
        ...(version === null ? {} : { version }),
      },
      order: "oldest",
      limit: BATCH,
      cursor: null,
    });
    const failed: OrchestrationFailed = { kind: "OrchestrationFailed", outcome: "failed", failure };
    const request: OrchestrationCancelRequested = {
      kind: "OrchestrationCancelRequested",
      reason: failure.message,
      by: "parent",
    };
    for (const record of items) {
      if (record.version !== version || !(await this.#isDueSince(record, latest))) continue;
      const ended = await committer.submit({
        kind: "terminate",
        id: record.id,
        status: "failed",
        terminated: JSON.stringify(failed),
        childRequest: JSON.stringify(request),
      });
      if (ended.kind === "done") logFailedInstance(this.#o, record, failure);
    }
  }

  async #isDueSince(record: ListedInstance, latest: number): Promise<boolean> {
    if (record.blocked !== null || record.owner !== null) return false;
    const messages = await this.#o.provider.readInbox(record.key);
    return messages.some(({ visibleAt }) => visibleAt <= latest);
  }
}
