// Pre-leased tasks: the commit that inserts them also leases them to this runtime (ARCHITECTURE.md, "The path of one step").

import type { ActivityScheduled } from "../../core/history/events.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import type { LeasedTask, NewTask, SessionClaim } from "../../core/provider/tasks.ts";
import { acceptsTags } from "../../core/ids/tags.ts";
import type { RuntimeContext } from "../context.ts";
import type { HeldInstance } from "../instances/held-instance.ts";

export function preLeasedTasks(held: HeldInstance, item: TurnItem): readonly LeasedTask[] {
  const leased: LeasedTask[] = [];
  for (const task of item.tasks) {
    if (task.lease === null) continue;
    const { sessionClaim } = task.lease;
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
      ...(sessionClaim === undefined ? {} : { sessionClaim }),
    });
  }
  return leased;
}

/**
 * Pre-leases the tasks of one turn. Frees the reserved slots and sessions again if the turn is not
 * committed.
 */
export class PreLeases {
  readonly #runtime: RuntimeContext;
  #reserved = 0;
  /** One entry for each task that is pre-leased in a session. */
  #sessions: string[] | null = null;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  leaseFor({
    name,
    session,
    tags,
  }: Pick<ActivityScheduled, "name" | "session" | "tags">): NewTask["lease"] {
    const { id: owner, options, registry, activities, intake, queues } = this.#runtime;
    if (!this.#runtime.isRunning || intake.tasksWait) return null;
    if (registry.activity(name) === undefined || queues.isRuled(name)) return null; // queues.2
    if (!acceptsTags(options.tags, tags ?? null)) return null;
    if (activities.free === 0) return null;
    const sessionClaim = session === undefined ? undefined : this.#reserveSession(session);
    if (sessionClaim === null || !activities.reserve()) return null;
    this.#reserved++;
    const lease = { owner, token: this.#runtime.newToken() };
    const { taskLeaseMs: leaseMs } = options;
    if (leaseMs === undefined && sessionClaim === undefined) return lease;
    return {
      ...lease,
      ...(leaseMs === undefined ? {} : { leaseMs }),
      ...(sessionClaim === undefined ? {} : { sessionClaim }),
    };
  }

  /**
   * Null: the task goes through the queue. Only the store knows which worker holds a session, and only
   * taking a task from the queue claims one (sessions.1).
   */
  #reserveSession(session: string): SessionClaim | null {
    const claim = this.#runtime.sessions.reserve(session);
    if (claim !== null) (this.#sessions ??= []).push(session);
    return claim;
  }

  takeBack(): void {
    this.#runtime.activities.unreserve(this.#reserved);
    this.#reserved = 0;
    for (const session of this.#sessions ?? []) this.#runtime.sessions.takeBack(session);
    this.#sessions = null;
  }
}
