// The clock of a test environment: virtual time that waits for real work (busy-work.1), and seeded
// randomness.

import { hexOf, seededNumbers } from "../seeded-numbers.ts";
import { VirtualEnvironment, type VirtualEnvironmentOptions } from "../virtual-environment.ts";
import { BusyWork } from "./busy-work.ts";

export interface TestClockOptions extends VirtualEnvironmentOptions {
  readonly patienceMs: number;
}

/** A start draws a run id and a seed. */
const DRAWS_PER_START = 2;
/** Multiplier that keeps the seeds of starts apart from the seed of the clock. */
const START_SEEDS = 1_000_003;

export class TestClock extends VirtualEnvironment {
  readonly busy: BusyWork;
  readonly #seed: number;
  #startDraws: (() => number) | null = null;
  #startDrawsLeft = 0;

  constructor({ patienceMs, ...options }: TestClockOptions) {
    super(options);
    this.busy = new BusyWork(patienceMs);
    this.#seed = options.seed ?? 1;
  }

  /**
   * Makes the next draws depend only on the number of the start, not on repetitions or earlier draws.
   * Idempotency keys, and everything derived from an instance's seed, are then equal in every run of a test.
   */
  expectStart(number: number): void {
    this.#startDraws = seededNumbers(this.#seed + number * START_SEEDS);
    this.#startDrawsLeft = DRAWS_PER_START;
  }

  override randomHex(bytes: number): string {
    if (this.#startDraws === null || this.#startDrawsLeft === 0) return super.randomHex(bytes);
    this.#startDrawsLeft--;
    return hexOf(this.#startDraws, bytes);
  }

  /** Resolves when no work is left that can proceed at the current virtual time, however long that takes. */
  override async settle(): Promise<void> {
    do await super.settle();
    while (await this.busy.waitForChange());
  }

  idleWhile<T>(wait: Promise<T>): Promise<T> {
    return this.busy.idleWhile(wait);
  }

  /** Waits in virtual time; for activities and scripted actions. */
  sleep(ms: number): Promise<void> {
    return this.idleWhile(new Promise((resolve) => void this.setTimer(ms, resolve)));
  }
}
