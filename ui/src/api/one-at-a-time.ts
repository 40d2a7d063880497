// Work that is asked for again and again: done one at a time, once more if it was asked for meanwhile.
//   OA1. Asking often never keeps it from ending: what is under way is not broken off for a newer wish.
//   OA2. Between two of them there is a rest, as a multiple of what the last one took.

export class OneAtATime {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #restTimes: number;
  readonly #controller = new AbortController();
  #isBusy = false;
  #isWanted = false;

  /** The work tells its own troubles; it does not reject. */
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
