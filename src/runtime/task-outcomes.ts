// How the outcomes of activities leave this runtime: with their instance's next turn, through the inbox, back into
// the queue, or handed back at the end.
//   TO1. A suspect counts as under way until its outcome is on disk: the next one may end this process.

import type { Committer } from "../core/committer.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import type { Instances } from "./instances.ts";

export interface TaskOutcomesOptions {
  readonly committer: Committer;
  /** False: the instance is not held here. */
  readonly give: Instances["giveOutcome"];
  readonly settled: (task: LeasedTask) => void;
  /** A task waits in the queue until then. */
  readonly queuedFor: (delayMs: number) => void;
  readonly flushHeartbeats: () => Promise<void>;
  readonly releaseSessions: () => Promise<void>;
  readonly trouble: (error: unknown) => void;
}

export class TaskOutcomes {
  readonly #o: TaskOutcomesOptions;

  constructor(options: TaskOutcomesOptions) {
    this.#o = options;
  }

  over(task: LeasedTask, body: Parameters<Instances["giveOutcome"]>[1]): void {
    // A suspect's goes alone, so that it is known when it is on disk: it is over then and not before.
    if (!task.suspect && this.#o.give(task, body)) return;
    const item = { kind: "completion", task, outcome: JSON.stringify(body) } as const;
    this.#o.committer
      .submit(item)
      .catch(this.#o.trouble)
      .finally(() => this.#o.settled(task));
  }

  retry(
    task: LeasedTask,
    again: { delayMs: number; failure: string; heartbeat: string | null; died?: true },
  ): void {
    const { heartbeat, ...rest } = again;
    const retry = { kind: "retry", task, ...rest } as const;
    const item = heartbeat === null ? retry : { ...retry, heartbeat };
    this.#o.committer
      .submit(item)
      .then(() => this.#o.queuedFor(again.delayMs), this.#o.trouble)
      .finally(() => this.#o.settled(task));
  }

  /** It was not begun, and nothing is held against it. */
  unbegun(task: LeasedTask): void {
    // What does not get there goes with the runtime's row.
    this.#o.committer.submit({ kind: "releaseTask", task }).catch(() => undefined);
  }

  /** Heartbeats first, while the claims hold; then the tasks, then the sessions that they would be taken in. */
  async handBack(tasks: readonly LeasedTask[]): Promise<void> {
    await this.#o.flushHeartbeats();
    const items = tasks.map((task) => ({ kind: "releaseTask", task }) as const);
    await Promise.allSettled(items.map((item) => this.#o.committer.submit(item)));
    await this.#o.releaseSessions().catch(this.#o.trouble);
  }
}
