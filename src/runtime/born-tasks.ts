// Tasks that were born leased: the commit that wrote them gave them to this runtime (architecture §4.4).

import type { ActivityScheduled } from "../core/history-events.ts";
import type { TurnItem } from "../core/provider/commit.ts";
import type { LeasedTask, NewTask } from "../core/provider/tasks.ts";
import { acceptsTags } from "../core/tags.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import type { HeldInstance } from "./held-instance.ts";
import type { ResolvedOptions } from "./options.ts";

export function bornTasks(held: HeldInstance, item: TurnItem): readonly LeasedTask[] {
  const born: LeasedTask[] = [];
  for (const task of item.tasks) {
    if (task.lease === null) continue;
    born.push({
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
  return born;
}

/** Gives leases at birth to the tasks of one turn, and takes the reserved slots back if it is not committed. */
export class BirthLeases {
  readonly #o: BirthOptions;
  #reserved = 0;

  constructor(options: BirthOptions) {
    this.#o = options;
  }

  leaseFor({ name, session, tags }: ActivityScheduled): NewTask["lease"] {
    const { isRegistered, options, activities, mayLease, owner, newToken } = this.#o;
    // Only the store knows who holds a session, and only taking a task claims it (SE1). So a session's task goes
    // through the queue: one fetch more, and no commit that may answer "not yours" for each of its tasks.
    if (session !== undefined) return null;
    if (!mayLease() || !isRegistered(name) || !acceptsTags(options.tags, tags ?? null)) return null;
    if (!activities.reserve()) return null;
    this.#reserved++;
    const lease = { owner, token: newToken() };
    const { taskLeaseMs: leaseMs } = options;
    return leaseMs === undefined ? lease : { ...lease, leaseMs };
  }

  takeBack(): void {
    this.#o.activities.unreserve(this.#reserved);
    this.#reserved = 0;
  }
}

export interface BirthOptions {
  readonly owner: string;
  readonly newToken: () => number;
  readonly options: Pick<ResolvedOptions, "taskLeaseMs" | "tags">;
  readonly mayLease: () => boolean;
  readonly isRegistered: (name: string) => boolean;
  readonly activities: Pick<ActivityRunner, "reserve" | "unreserve">;
}
