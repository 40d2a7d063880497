// The clock of a test environment: virtual time that waits for real work (BW1), and seeded randomness.

import { hexOf, seededNumbers } from "../seeded-numbers.ts";
import { VirtualEnvironment, type VirtualEnvironmentOptions } from "../virtual-environment.ts";
import { BusyWork } from "./busy-work.ts";

export interface TestClockOptions extends VirtualEnvironmentOptions {
  readonly patienceMs: number;
}

/** A start draws a run id and a seed. */
const DRAWS_PER_START = 2;
/** Distinguishes the seeds of starts from the clock's own. */
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
   * The next draws are those of the start with this number, however often it is repeated and whatever was drawn before.
   * So idempotency keys, and all that follows from an instance's seed, are the same in every run of a test.
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

  /** Resolves when everything that can happen now has happened, whatever it took in real time. */
  override async settle(): Promise<void> {
    do await super.settle();
    while (await this.busy.waited());
  }

  /** Virtual time, for code that runs inside: an activity or a scripted action. */
  sleep(ms: number): Promise<void> {
    return this.busy.idleWhile(new Promise((resolve) => void this.setTimer(ms, resolve)));
  }
}
