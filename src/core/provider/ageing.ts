// Ageing: a wait of so long is worth one priority, in the task queue and among due instances (semantics 16).
// Both sides of the comparison grow with time alike, so `since + priority · ageing` is an order for good (K2).

export const AGEING_MS = 5 * 60_000;
/** A hundred years: as good as never, and what is added up stays a whole number. */
export const AGEING_MS_MAX = 100 * 365 * 86_400_000;

/** Part of every request for work. */
export interface Ageing {
  /** How long a wait is worth one priority, a whole number. Default: five minutes. */
  readonly ageingMs?: number;
}

/** The lowest is the first in line. */
export function rankOf(since: number, priority: number, { ageingMs = AGEING_MS }: Ageing): number {
  return since + priority * ageingMs;
}
