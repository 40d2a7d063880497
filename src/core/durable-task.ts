// Tasks: native promises that can be cancelled durably.
//   T1. A task is a native promise whose `constructor` is Promise: `await` takes it as it is, without a wrapper,
//       and keeps the async context it was awaited in.
//   T2. A rejected task that nobody awaits is no process event: its rejection is marked as handled.

import type { Task } from "./context-types.ts";

const ignore = (): void => undefined;

export class DurableTask<T> extends Promise<T> implements Task<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  #cancel: (reason: string) => void;

  constructor(
    executor: (
      resolve: (value: T | PromiseLike<T>) => void,
      reject: (reason: unknown) => void,
    ) => void,
    cancel: (reason: string) => void,
  ) {
    super(executor);
    this.#cancel = cancel;
  }

  /** A task over a promise of the engine's own making. */
  static over<T>(promise: Promise<T>, cancel: (reason: string) => void): DurableTask<T> {
    const task = new DurableTask<T>((resolve, reject) => {
      promise.then(resolve, reject);
    }, cancel);
    task.then(undefined, ignore);
    return task;
  }

  /** Rejects a task that may have no reader. */
  static rejectQuietly(
    task: Promise<unknown>,
    reject: (reason: unknown) => void,
    reason: unknown,
  ): void {
    task.then(undefined, ignore);
    reject(reason);
  }

  cancel(reason = "cancelled"): void {
    this.#cancel(reason);
  }

  map<U>(fn: (value: T) => U): Task<U> {
    return DurableTask.over(this.then(fn), this.#cancel);
  }

  [Symbol.dispose](): void {
    this.#cancel("disposed");
  }
}

// T1. Without this `await` would wrap every task, and `then` would build tasks that nothing can cancel.
Reflect.defineProperty(DurableTask.prototype, "constructor", { value: Promise });

export function isTask(value: unknown): value is DurableTask<unknown> {
  return value instanceof DurableTask;
}
