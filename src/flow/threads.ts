// Threads of a running flow: the branches that are on their way, and whether all of them stand still.
//   TH1. A thread runs, or it stands and waits for something that it asked for. Work (an activity, a child) cannot be
//        taken up again by another execution; a timer and a wait can.
//   TH2. A fork hands its own turn to its branches; the last branch to end hands it back.
//   TH3. A fork is over when all its branches are, also those that were cancelled: what they clean up is done before
//        anybody is told of the failure.

import type { OrchestrationContext, Task } from "../core/context-types.ts";

export class Threads {
  readonly #ctx: OrchestrationContext;
  /** Called when the last running thread stands still. */
  readonly #onRest: () => void;
  #running = 1;
  #work = 0;

  constructor(ctx: OrchestrationContext, onRest: () => void) {
    this.#ctx = ctx;
    this.#onRest = onRest;
  }

  /** Whether nothing is under way that another execution could not take up. */
  get isFree(): boolean {
    return this.#work === 0;
  }
  /** Whether the caller is the only thread that runs. */
  get isAlone(): boolean {
    return this.#running === 1;
  }

  /** Waits for work. */
  async work<T>(task: Promise<T>): Promise<T> {
    this.#work++;
    try {
      return await this.stand(task);
    } finally {
      this.#work--;
    }
  }

  /** Waits for something that could be asked for again. */
  async stand<T>(task: Promise<T>): Promise<T> {
    this.#rest();
    try {
      return await task;
    } finally {
      this.#running++;
    }
  }

  /** Runs all of them side by side, each as a scope; the first failure cancels the rest and is told at once. */
  async fork<T>(bodies: readonly (() => Promise<T>)[], onFailure: () => void): Promise<T[]> {
    if (bodies.length === 0) return [];
    let left = bodies.length;
    this.#running += left - 1;
    const end = (isSound: boolean): void => {
      if (--left === 0) return; // its turn is the fork's now (TH2)
      // A branch that failed leaves frames that say nothing of it: this is no rest.
      if (isSound) this.#rest();
      else this.#running--;
    };
    const tasks = bodies.map((body) => this.#ctx.scope(() => ended(body, end)));
    try {
      return await this.#ctx.all(tasks);
    } catch (error) {
      onFailure();
      await this.#ctx.allSettled(tasks as readonly Task<unknown>[]); // TH3
      throw error;
    }
  }

  #rest(): void {
    if (--this.#running === 0) this.#onRest();
  }
}

async function ended<T>(body: () => Promise<T>, end: (isSound: boolean) => void): Promise<T> {
  let isSound = false;
  try {
    const value = await body();
    isSound = true;
    return value;
  } finally {
    end(isSound);
  }
}
