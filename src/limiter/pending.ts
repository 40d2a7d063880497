// A pending task of the limiter's loop, which waits for several tasks and handles their outcomes one by one.
//   - An outcome stays until it is taken. A cancelled task leaves no outcome.

import type { Task } from "../core/context/types.ts";
import type { Wakeup } from "./wakeup.ts";

/** One task and, once it has settled, its outcome. */
export class Pending<T> {
  readonly #wakeup: Wakeup | null;
  #task: Promise<T> | Task<T> | null = null;
  #settled: Promise<void> | null = null;
  #outcome: { readonly value: T } | null = null;

  constructor(wakeup: Wakeup | null = null) {
    this.#wakeup = wakeup;
  }

  get isOpen(): boolean {
    return this.#task !== null;
  }

  get hasOutcome(): boolean {
    return this.#outcome !== null;
  }

  get isWaiting(): boolean {
    return this.isOpen && !this.hasOutcome;
  }

  /** Resolves when there is an outcome to take; null if no task is open. */
  get settled(): Promise<void> | null {
    return this.#settled;
  }

  open(task: Promise<T> | Task<T>): void {
    this.#task = task;
    this.#settled = task.then((value) => {
      if (this.#task !== task) return;
      this.#outcome = { value };
      this.#wakeup?.set();
    });
    if (this.#wakeup === null) return;
    this.#settled.catch((error: unknown) => {
      if (this.#task === task) this.#wakeup?.fail(error);
    });
  }

  take(): { readonly value: T } | undefined {
    const outcome = this.#outcome ?? undefined;
    if (outcome !== undefined) this.#clear();
    return outcome;
  }

  cancel(): void {
    const task = this.#task;
    this.#clear();
    if (task !== null && "cancel" in task) task.cancel();
  }

  #clear(): void {
    this.#task = null;
    this.#settled = null;
    this.#outcome = null;
  }
}
