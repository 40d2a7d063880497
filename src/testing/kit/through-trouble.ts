// Work on a store with injected faults: retries of an unavailable store need virtual time.

import type { TestClock } from "./test-clock.ts";

/** Awaits work and moves the clock meanwhile. `alone` lets one caller at a time move the clock. */
export async function throughTrouble<T>(
  work: Promise<T>,
  clock: TestClock,
  alone: (move: () => Promise<void>) => Promise<void>,
): Promise<T> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  work.then(over, over);
  for (;;) {
    await clock.settle();
    const next = clock.nextTimerAt();
    if (isOver || next === null) return work;
    await alone(() => clock.advance(Math.max(next - clock.now(), 0)));
  }
}
