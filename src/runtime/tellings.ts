// What running attempts say of themselves, on its way to the store: details for the next attempt, progress for
// watchers.
//   TE1. Each has its own pace: details are written once a second at most, progress four times (semantics 11).

import type { Provider } from "../core/provider/provider.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import { Heartbeats, type HeartbeatsOptions } from "./heartbeats.ts";

const DETAILS_EVERY_MS = 1_000;
const PROGRESS_EVERY_MS = 250;

export interface TellingsOptions extends Omit<HeartbeatsOptions, "everyMs" | "write"> {
  readonly provider: Pick<Provider, "heartbeatTasks">;
}

export class Tellings {
  readonly #details: Heartbeats;
  readonly #progress: Heartbeats;

  constructor({ provider, ...common }: TellingsOptions) {
    this.#details = new Heartbeats({
      ...common,
      everyMs: DETAILS_EVERY_MS,
      write: (said) => provider.heartbeatTasks(said.map(([task, details]) => ({ task, details }))),
    });
    this.#progress = new Heartbeats({
      ...common,
      everyMs: PROGRESS_EVERY_MS,
      write: (said) =>
        provider.heartbeatTasks(said.map(([task, progress]) => ({ task, progress }))),
    });
  }

  details(task: LeasedTask, text: string): void {
    this.#details.note(task, text);
  }

  progress(task: LeasedTask, text: string): void {
    this.#progress.note(task, text);
  }

  /** Writes what waits; at an orderly end, before tasks are handed back. */
  async flush(): Promise<void> {
    await Promise.all([this.#details.flush(), this.#progress.flush()]);
  }
}
