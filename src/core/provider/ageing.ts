// Ageing: a wait of this long is worth one priority, in the task queue and among due instances (semantics 16).
// Both sides of the comparison grow with time alike, so `since + priority · AGEING_MS` is an order for good (K2).

export const AGEING_MS = 5 * 60_000;
