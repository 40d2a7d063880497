// A slot: one task that a loop waits for among others, without losing what comes while it does something else.
//   SL1. An outcome stays until it is taken; a task that was given up leaves none.

import type { Task } from "../core/context-types.ts";

/** A task whose outcome is taken when its time comes. */
export class Slot<T> {
  #task: Task<T> | null = null;
  #settled: Promise<void> | null = null;
  #outcome: { readonly value: T } | null = null;

  get isOpen(): boolean {
    return this.#task !== null;
  }

  get hasOutcome(): boolean {
    return this.#outcome !== null;
  }

  /** Resolves when there is something to take; null: nothing is open. */
  get settled(): Promise<void> | null {
    return this.#settled;
  }

  open(task: Task<T>): void {
    this.#task = task;
    this.#settled = task.then((value) => {
      if (this.#task === task) this.#outcome = { value };
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
    task?.cancel();
  }

  #clear(): void {
    this.#task = null;
    this.#settled = null;
    this.#outcome = null;
  }
}
