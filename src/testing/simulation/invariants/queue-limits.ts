// Invariant 28: no task is leased beyond the limits of its queue, or while its queue is paused. The rules are those that
// runtimes have declared; the newest declaration counts. The leases are those of the lease model.

import type { QueueRule } from "../../../core/provider/queues.ts";
import type { TaskAddress } from "../../../core/provider/tasks.ts";
import type { Carried } from "../calls.ts";
import type { LeaseModel } from "./lease-model.ts";
import { taskKey } from "./task-story.ts";
import type { Snapshots } from "./snapshot.ts";

export class QueueLimits {
  readonly #rules = new Map<string, QueueRule | null>();
  readonly #paused = new Set<string>();
  /** The leases that requests have granted. A repeated request returns them again. */
  readonly #granted = new Set<string>();

  /** Must be called after the model has seen the call. */
  see(call: Carried, leases: LeaseModel, snapshots: Snapshots): readonly string[] {
    switch (call.method) {
      case "declareQueues":
        for (const { name, rule } of call.args[1]) this.#rules.set(name, rule);
        return [];
      case "pauseQueue":
        this.#paused.add(call.args[0]);
        return [];
      case "resumeQueue":
        this.#paused.delete(call.args[0]);
        return [];
      case "leaseTasks": {
        const granted = new Set<string>();
        for (const task of call.result.tasks) {
          const lease = `${taskKey(task)} ${task.token}`;
          if (!this.#granted.has(lease)) granted.add(task.name);
          this.#granted.add(lease);
        }
        const paused = [...granted].filter((name) => this.#paused.has(name));
        return [
          ...paused.map((name) => `tasks of ${name} were leased, although it is paused`),
          ...[...granted].flatMap((name) => this.#excess(name, leases, snapshots)),
        ];
      }
      case "commit": {
        const leased = call.args[0].flatMap((item) =>
          item.kind === "turn" ? item.tasks.filter(({ lease }) => lease !== null) : [],
        );
        const names = new Set(leased.map(({ name }) => name));
        return [...names].flatMap((name) => this.#excess(name, leases, snapshots));
      }
      default:
        return [];
    }
  }

  #excess(name: string, leases: LeaseModel, snapshots: Snapshots): readonly string[] {
    const { concurrency = Infinity, perKey = Infinity } = this.#rules.get(name) ?? {};
    if (concurrency === Infinity && perKey === Infinity) return [];
    const held = leases.taskLeases.filter(
      ({ address }) => leases.stories.get(taskKey(address))?.name === name,
    );
    const byKey = Map.groupBy(held, ({ address }) => queueKeyOf(address, snapshots));
    const full = [...byKey].filter(([, { length }]) => length > perKey);
    return [
      ...(held.length > concurrency
        ? [`${held.length} tasks of ${name} are leased, of at most ${concurrency}`]
        : []),
      ...full.map(
        ([key, { length }]) =>
          `${length} tasks of ${name} with the key ${key} are leased, of at most ${perKey}`,
      ),
    ];
  }
}

function queueKeyOf({ key, sequence }: TaskAddress, snapshots: Snapshots): string {
  const events = snapshots.last(snapshots.idOf(key) ?? "")?.events ?? [];
  const call = events[sequence - 1];
  return call?.kind === "ActivityScheduled" ? (call.queueKey ?? "") : "";
}
