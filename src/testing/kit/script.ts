// Scripted actions: what a test wants done at moments of virtual time.
//   SC1. An action runs when the clock stands at its moment; those of one moment in the order they were given.
//   SC2. Time waits for it. What it throws is thrown by whoever lets time pass.

import type { TestClock } from "./test-clock.ts";

export class Script {
  readonly #clock: TestClock;
  readonly #due = new Set<{ readonly at: number }>();
  readonly #errors: unknown[] = [];

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  /** When the next one is to come, or null. */
  get nextAt(): number | null {
    const times = [...this.#due].map(({ at }) => at);
    return times.length === 0 ? null : Math.min(...times);
  }

  add(at: number, action: () => unknown): void {
    const entry = { at };
    this.#due.add(entry);
    this.#arm(entry, action);
  }

  /** Throws what an action threw. */
  check(): void {
    const [error] = this.#errors.splice(0);
    if (error !== undefined) throw error instanceof Error ? error : new Error(String(error));
  }

  /** A timer of the host's may be too short for the moment; then there is another. */
  #arm(entry: { readonly at: number }, action: () => unknown): void {
    this.#clock.setTimer(entry.at - this.#clock.now(), () => {
      if (this.#clock.now() < entry.at) return this.#arm(entry, action);
      this.#due.delete(entry);
      void this.#clock.busy.run(async () => {
        try {
          await action();
        } catch (error) {
          this.#errors.push(error ?? new Error("A scripted action threw nothing."));
        }
      });
    });
  }
}
