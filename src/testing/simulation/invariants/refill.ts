// Refill: restores a map of a model to an earlier state.

/** Replaces all entries of the map. */
export function refill<K, V>(map: Map<K, V>, entries: readonly (readonly [K, V])[]): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
