// Pre-leased tasks: the commit that inserts them also leases them to this runtime (ARCHITECTURE.md, "The path of one step").

import type { ActivityScheduled } from "../../core/history/events.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import type { LeasedTask, NewTask } from "../../core/provider/tasks.ts";
import { acceptsTags } from "../../core/ids/tags.ts";
import type { RuntimeContext } from "../context.ts";
import type { HeldInstance } from "../instances/held-instance.ts";

export function preLeasedTasks(held: HeldInstance, item: TurnItem): readonly LeasedTask[] {
  const leased: LeasedTask[] = [];
  for (const task of item.tasks) {
    if (task.lease === null) continue;
    leased.push({
      key: held.key,
      execution: item.execution,
      sequence: task.sequence,
      token: task.lease.token,
      instanceId: held.id,
      runId: held.runId,
      orchestration: held.name,
      orchestrationVersion: held.definition.version,
      name: task.name,
      input: task.input,
      options: task.options,
      session: task.session,
      tags: task.tags,
      priority: task.priority,
      attempt: 0,
      deaths: 0,
      suspect: false,
      heartbeat: null,
    });
  }
  return leased;
}

/** Pre-leases the tasks of one turn. Frees the reserved slots again if the turn is not committed. */
export class PreLeases {
  readonly #runtime: RuntimeContext;
  #reserved = 0;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  leaseFor({ name, session, tags }: ActivityScheduled): NewTask["lease"] {
    const { id: owner, options, registry, activities, intake } = this.#runtime;
    // Only the store knows which worker holds a session, and only taking a task claims the session
    // (sessions.1). So a task with a session goes through the queue. That costs one more fetch and avoids
    // commits that the store refuses because another worker holds the session.
    if (session !== undefined) return null;
    if (!this.#runtime.isRunning || intake.tasksWait) return null;
    if (registry.activity(name) === undefined) return null;
    if (!acceptsTags(options.tags, tags ?? null)) return null;
    if (!activities.reserve()) return null;
    this.#reserved++;
    const lease = { owner, token: this.#runtime.newToken() };
    const { taskLeaseMs: leaseMs } = options;
    return leaseMs === undefined ? lease : { ...lease, leaseMs };
  }

  takeBack(): void {
    this.#runtime.activities.unreserve(this.#reserved);
    this.#reserved = 0;
  }
}
