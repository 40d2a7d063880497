// Progress reports: details for the next attempt and progress for watchers, from running attempts to the
// store.
//   - Details are written at most once per second, progress at most four times per second (semantics 11).
//   - The reports of all attempts are written together, and only the newest value of each attempt.
//   - The first values are written at once. A failed write is retried, unless a newer value replaced it.
//   - If the store no longer knows a claim, `onLost` is called: the attempt has lost its lease.

import type { AttemptClock } from "../../core/attempts/running-attempt.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { LeasedTask, TaskClaim } from "../../core/provider/tasks.ts";
import type { TimerHandle } from "../../core/time/environment.ts";

const DETAILS_EVERY_MS = 1_000;
const PROGRESS_EVERY_MS = 250;

export interface ProgressReportsOptions extends AttemptClock {
  readonly provider: Pick<Provider, "heartbeatTasks">;
  readonly onLost: (claim: TaskClaim) => void;
  readonly onStoreError: (error: unknown) => void;
}

export class ProgressReports {
  readonly #details: Batch;
  readonly #progress: Batch;

  constructor(options: ProgressReportsOptions) {
    this.#details = new Batch("details", DETAILS_EVERY_MS, options);
    this.#progress = new Batch("progress", PROGRESS_EVERY_MS, options);
  }

  details(task: LeasedTask, text: string): void {
    this.#details.add(task, text);
  }

  progress(task: LeasedTask, text: string): void {
    this.#progress.add(task, text);
  }

  /** Removes and returns the progress of the task that waits to be written. The caller writes it. */
  take(task: LeasedTask): string | undefined {
    this.#details.take(task);
    return this.#progress.take(task);
  }

  /** Writes all waiting values. At shutdown this happens before tasks are handed back. */
  async flush(): Promise<void> {
    await Promise.all([this.#details.flush(), this.#progress.flush()]);
  }
}

/** The newest values of one kind that wait for the next write. */
class Batch {
  readonly #kind: "details" | "progress";
  readonly #everyMs: number;
  readonly #deps: ProgressReportsOptions;
  #waiting = new Map<LeasedTask, string>();
  #writtenAt = -Infinity;
  #timer: TimerHandle | null = null;

  constructor(kind: "details" | "progress", everyMs: number, options: ProgressReportsOptions) {
    this.#kind = kind;
    this.#everyMs = everyMs;
    this.#deps = options;
  }

  add(task: LeasedTask, value: string): void {
    this.#waiting.set(task, value);
    this.#schedule();
  }

  take(task: LeasedTask): string | undefined {
    const value = this.#waiting.get(task);
    this.#waiting.delete(task);
    return value;
  }

  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const { provider, monotonic, onLost, onStoreError } = this.#deps;
    const batch = this.#waiting;
    if (batch.size === 0) return;
    this.#waiting = new Map();
    this.#writtenAt = monotonic();
    try {
      const isDetails = this.#kind === "details";
      const values = [...batch].map(([task, value]) =>
        isDetails ? { task, details: value } : { task, progress: value },
      );
      for (const claim of await provider.heartbeatTasks(values)) onLost(claim);
    } catch (error) {
      onStoreError(error);
      for (const [task, value] of batch) {
        if (!this.#waiting.has(task)) this.#waiting.set(task, value);
      }
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#timer !== null) return;
    const at = Math.max(this.#deps.monotonic(), this.#writtenAt + this.#everyMs);
    this.#timer = this.#deps.wheel.schedule(at, () => void this.flush());
  }
}
