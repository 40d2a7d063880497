// Scripted actions: functions that a test schedules at moments of virtual time.
//   - An action runs when the clock reads its moment. Actions of the same moment run in the order of `add`.
//   - script.1: Time stands still while an action runs. If the action throws, the call that moved the clock
//        throws the same error.

import type { TestClock } from "./test-clock.ts";

export class Script {
  readonly #clock: TestClock;
  readonly #due = new Set<{ readonly at: number }>();
  readonly #errors: unknown[] = [];

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  /** The time of the next action, or null. */
  get nextAt(): number | null {
    const times = [...this.#due].map(({ at }) => at);
    return times.length === 0 ? null : Math.min(...times);
  }

  add(at: number, action: () => unknown): void {
    const entry = { at };
    this.#due.add(entry);
    this.#arm(entry, action);
  }

  /** Throws the first error that an action has thrown since the last check. */
  check(): void {
    const [error] = this.#errors.splice(0);
    if (error !== undefined) throw error instanceof Error ? error : new Error(String(error));
  }

  /** Sets a timer. A timer has a maximum delay; if it fires too early, another timer follows. */
  #arm(entry: { readonly at: number }, action: () => unknown): void {
    this.#clock.setTimer(entry.at - this.#clock.now(), () => {
      if (this.#clock.now() < entry.at) return this.#arm(entry, action);
      this.#due.delete(entry);
      void this.#clock.busy.run(async () => {
        try {
          await action();
        } catch (error) {
          this.#errors.push(error ?? new Error("A scripted action threw undefined or null."));
        }
      });
    });
  }
}
