// The safety net: what a runtime does by the clock, whether or not there is news.
//   SN1. One timer. Beats, renewals and the look at the store have their own periods, all multiples of its own.
//   SN2. A look is one statement; only what it finds is asked for (architecture §4).
//   SN3. An error of the store ends this look and no other.

import type { Environment, TimerHandle } from "../core/environment.ts";
import type { Peek } from "../core/provider/runtimes.ts";
import type { ResolvedOptions } from "./options.ts";

export interface SafetyNetOptions {
  readonly environment: Environment;
  readonly options: Pick<ResolvedOptions, "beatMs" | "pollIntervalMs">;
  readonly renewal: {
    readonly everyMs: number | null;
    tick(now: number): Promise<void>;
  };
  readonly isRunning: () => boolean;
  readonly beat: () => Promise<void>;
  readonly peek: () => Promise<Peek>;
  /** Once a poll interval, before the look. */
  readonly tidy: (now: number) => Promise<void>;
  /** What the look found. */
  readonly found: (peek: Peek) => Promise<void>;
  readonly trouble: (error: unknown) => void;
}

export class SafetyNet {
  readonly #o: SafetyNetOptions;
  readonly #periodMs: number;
  #timer: TimerHandle | null = null;
  #count = 0;
  #stopped = false;

  constructor(options: SafetyNetOptions) {
    this.#o = options;
    const { beatMs, pollIntervalMs } = options.options;
    this.#periodMs = Math.min(beatMs, pollIntervalMs, options.renewal.everyMs ?? Infinity);
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#o.environment.setTimer(this.#periodMs, () => {
      void this.#tick(this.#count++).catch(this.#o.trouble);
      this.start();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #tick(count: number): Promise<void> {
    const every = (ms: number): boolean =>
      count % Math.max(Math.round(ms / this.#periodMs), 1) === 0;
    const { options, environment, isRunning } = this.#o;
    if (every(options.beatMs)) await this.#o.beat();
    if (!isRunning()) return;
    await this.#o.renewal.tick(environment.monotonic());
    if (!every(options.pollIntervalMs)) return;
    await this.#o.tidy(environment.monotonic());
    await this.#o.found(await this.#o.peek());
  }
}
