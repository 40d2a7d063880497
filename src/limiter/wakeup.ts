// The wakeup of the limiter's loop: one promise that resolves when any pending task of the loop has an outcome.
//   - Promise.race over all tasks would add a reaction to every open task with every message.

export class Wakeup {
  #waiting: PromiseWithResolvers<void> | null = null;
  #isSet = false;

  /** Resolves when there is an outcome that came after the previous call. Rejects if a task failed. */
  next(): Promise<void> {
    const waiting = (this.#waiting ??= Promise.withResolvers<void>());
    if (this.#isSet) this.set();
    return waiting.promise;
  }

  set(): void {
    this.#isSet = this.#waiting === null;
    this.#waiting?.resolve();
    this.#waiting = null;
  }

  fail(error: unknown): void {
    this.#waiting ??= Promise.withResolvers<void>();
    this.#waiting.promise.catch(() => undefined); // the loop may have ended
    this.#waiting.reject(error);
  }
}
