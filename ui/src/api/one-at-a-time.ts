// Runs repeated work one run at a time. A request during a run causes one more run after it.
//   - Requests never cancel a run in flight, so frequent requests cannot prevent a run from finishing.
//   - After a run there is a pause of `restTimes` times its duration.

export class OneAtATime {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #restTimes: number;
  readonly #controller = new AbortController();
  #isBusy = false;
  #isWanted = false;

  /** `work` must handle its own errors: its promise must not reject. */
  constructor(work: (signal: AbortSignal) => Promise<void>, restTimes = 0) {
    this.#work = work;
    this.#restTimes = restTimes;
  }

  ask(): void {
    this.#isWanted = true;
    if (!this.#isBusy) void this.#run();
  }

  stop(): void {
    this.#controller.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#controller;
    this.#isBusy = true;
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false;
      const began = performance.now();
      await this.#work(signal);
      await rest(this.#restTimes * (performance.now() - began));
    }
    this.#isBusy = false;
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
