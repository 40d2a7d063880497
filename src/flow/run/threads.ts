// The threads of a running flow: counts the concurrent branches, and reports when all of them wait.
//   - A thread runs, or it waits for a call. A timer or a wait for a signal can be scheduled again by the
//        next execution. Work (an activity, a child) cannot.
//   - threads.1: A fork gives its own count to its branches. The last branch to end returns it to the fork.
//   - threads.2: A fork ends when all its branches have ended, including cancelled ones. Their cleanup
//        therefore finishes before the failure propagates.

import type { OrchestrationContext, Task } from "../../core/context/types.ts";

export class Threads {
  readonly #ctx: OrchestrationContext;
  /** Called when the last running thread begins to wait. */
  readonly #onIdle: () => void;
  #running = 1;
  #work = 0;

  constructor(ctx: OrchestrationContext, onIdle: () => void) {
    this.#ctx = ctx;
    this.#onIdle = onIdle;
  }

  /** Whether no work is in flight: the next execution could take over everything that is open. */
  get hasNoWork(): boolean {
    return this.#work === 0;
  }
  /** Whether the caller is the only running thread. */
  get isAlone(): boolean {
    return this.#running === 1;
  }

  /** Waits for an activity or a child. */
  async work<T>(task: Promise<T>): Promise<T> {
    this.#work++;
    try {
      return await this.wait(task);
    } finally {
      this.#work--;
    }
  }

  /** Waits for a call that the next execution could schedule again: a timer or a wait for a signal. */
  async wait<T>(task: Promise<T>): Promise<T> {
    this.#stopOne();
    try {
      return await task;
    } finally {
      this.#running++;
    }
  }

  /**
   * Runs the bodies concurrently, each in a scope. The first failure calls `onFailure` at once and cancels
   * the others.
   */
  async fork<T>(bodies: readonly (() => Promise<T>)[], onFailure: () => void): Promise<T[]> {
    if (bodies.length === 0) return [];
    let left = bodies.length;
    this.#running += left - 1;
    const end = (hasSucceeded: boolean): void => {
      if (--left === 0) return; // The fork takes this count over (threads.1).
      // The frames do not record that a branch has failed, so the flow must not compact now: skip onIdle.
      if (hasSucceeded) this.#stopOne();
      else this.#running--;
    };
    const tasks = bodies.map((body) => this.#ctx.scope(() => ended(body, end)));
    try {
      return await this.#ctx.all(tasks);
    } catch (error) {
      onFailure();
      await this.#ctx.allSettled(tasks as readonly Task<unknown>[]); // threads.2
      throw error;
    }
  }

  #stopOne(): void {
    if (--this.#running === 0) this.#onIdle();
  }
}

async function ended<T>(body: () => Promise<T>, end: (hasSucceeded: boolean) => void): Promise<T> {
  let hasSucceeded = false;
  try {
    const value = await body();
    hasSucceeded = true;
    return value;
  } finally {
    end(hasSucceeded);
  }
}
