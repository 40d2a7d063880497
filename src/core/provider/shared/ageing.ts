// Ageing: a wait of `ageingMs` outweighs one level of priority, in the task queue and among due instances
// (semantics 16).
// Both sides of the comparison grow equally with time, so `since + priority · ageing` is a fixed order
// (provider.tasks.2).

export const AGEING_MS = 5 * 60_000;
/** A hundred years: practically no ageing, and the sums stay safe integers. */
export const AGEING_MS_MAX = 100 * 365 * 86_400_000;

/** Part of every lease request. */
export interface Ageing {
  /** The wait that outweighs one level of priority, an integer. Default: five minutes. */
  readonly ageingMs?: number;
}

/** The position in the queue; the lowest is first. */
export function queueRank(
  since: number,
  priority: number,
  { ageingMs = AGEING_MS }: Ageing,
): number {
  return since + priority * ageingMs;
}
