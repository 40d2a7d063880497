// The sizes of the workloads for peers: the same instances as for Perdure, but fewer repetitions where one takes
// seconds instead of milliseconds.

import type { Setting } from "../subject.ts";

/** W1. One peer allows at most 1,000 steps. */
export const ROW_LENGTHS = [
  { n: 100, times: 5 },
  { n: 1_000, times: 1 },
] as const;
export const ROW_WARM_UP_STEPS = 100;

/** W2: rounds of `AT_ONCE` instances of `STEPS` steps (../sizes.ts). */
export const WARM_UP_ROUNDS = 8;
export const ROUNDS = 3;

/** W3 */
export const WIDTH = 1_000;
export const WIDTH_TIMES = 3;

/** W12 */
export const HOT_ASKS = 4_000;
export const ASKS_PER_KEY = 8;

/** W4, W5, W12 */
export function samples({ quick }: Setting): number {
  return quick ? 30 : 100;
}
export const WARM_UP_SAMPLES = 10;
