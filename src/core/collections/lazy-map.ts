// A map for few entries: one entry needs no Map, and no entry needs nothing.
//   Most maps of a run and of a turn have at most one entry. A Map has a table from its creation on: with many
//   instances in flight, these tables were a large part of what the garbage collector copies.

export class LazyMap<Key, Value> {
  /** The only entry; null if there is none, or a map. */
  #only: { readonly key: Key; readonly value: Value } | null = null;
  #map: Map<Key, Value> | null = null;

  get size(): number {
    return this.#map?.size ?? (this.#only === null ? 0 : 1);
  }
  get(key: Key): Value | undefined {
    if (this.#map !== null) return this.#map.get(key);
    return this.#only?.key === key ? this.#only.value : undefined;
  }
  has(key: Key): boolean {
    return this.#map?.has(key) ?? this.#only?.key === key;
  }
  set(key: Key, value: Value): void {
    if (this.#map === null && (this.#only === null || this.#only.key === key)) {
      this.#only = { key, value };
      return;
    }
    this.#map ??= this.#grown();
    this.#map.set(key, value);
  }
  delete(key: Key): boolean {
    if (this.#map !== null) return this.#map.delete(key);
    if (this.#only?.key !== key) return false;
    this.#only = null;
    return true;
  }
  clear(): void {
    this.#only = null;
    this.#map = null;
  }
  values(): Iterable<Value> {
    return this.#map?.values() ?? (this.#only === null ? [] : [this.#only.value]);
  }
  entries(): Iterable<[Key, Value]> {
    return (
      this.#map?.entries() ?? (this.#only === null ? [] : [[this.#only.key, this.#only.value]])
    );
  }

  /** A map with the only entry, before a second one is added. */
  #grown(): Map<Key, Value> {
    const map = new Map<Key, Value>();
    if (this.#only !== null) map.set(this.#only.key, this.#only.value);
    this.#only = null;
    return map;
  }
}
