// Durable tasks: native promises that can be cancelled durably.
//   - A task is a native promise whose `constructor` is Promise, so that `await` uses it without a wrapper
//       and keeps the async context of the await.
//   - The rejection of a task is marked as handled, so that a task without an await does not cause an
//       unhandled rejection of the process.

import type { Task } from "./types.ts";

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

  /** A task for a promise that the engine created. */
  static fromPromise<T>(promise: Promise<T>, cancel: (reason: string) => void): DurableTask<T> {
    const task = new DurableTask<T>((resolve, reject) => {
      promise.then(resolve, reject);
    }, cancel);
    task.then(undefined, ignore);
    return task;
  }

  /** Rejects a task that the code may not await. */
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
    return DurableTask.fromPromise(this.then(fn), this.#cancel);
  }

  [Symbol.dispose](): void {
    this.#cancel("disposed");
  }
}

/**
 * A task that knows whether the code uses it. Its `constructor` is not Promise, so that `await` calls `then`. It
 * cannot be cancelled: what it waits for is written with the turn.
 */
export class ObservedTask<T> extends DurableTask<T> {
  #isObserved = false;
  readonly #onObserved: () => void;

  /** `onObserved`: called when the code uses the task for the first time. */
  constructor(promise: Promise<T>, onObserved: () => void) {
    super(
      (resolve, reject) => {
        promise.then(resolve, reject);
      },
      () => undefined,
    );
    this.#onObserved = onObserved;
    Reflect.defineProperty(this, "constructor", { value: ObservedTask });
    super.then(undefined, ignore); // a rejection without an await is not an error of the process
  }

  get isObserved(): boolean {
    return this.#isObserved;
  }

  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#isObserved) {
      this.#isObserved = true;
      this.#onObserved();
    }
    return super.then(onFulfilled, onRejected);
  }
}

// Without this, `await` would wrap every task, and `then` would create tasks that cannot be cancelled.
Reflect.defineProperty(DurableTask.prototype, "constructor", { value: Promise });

export function isTask(value: unknown): value is DurableTask<unknown> {
  return value instanceof DurableTask;
}
