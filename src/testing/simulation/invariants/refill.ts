// Maps of a model that goes back to what it knew at an earlier moment.

/** Puts these entries in place of all that the map has. */
export function refill<K, V>(map: Map<K, V>, entries: readonly (readonly [K, V])[]): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
