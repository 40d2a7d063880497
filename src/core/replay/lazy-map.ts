// A map that is created with its first entry. Most runs and turns need none of theirs, and an empty Map has a
// table: with many instances in flight, these tables were a large part of what the garbage collector copies.

export class LazyMap<Key, Value> {
  #map: Map<Key, Value> | null = null;

  get size(): number {
    return this.#map?.size ?? 0;
  }
  get(key: Key): Value | undefined {
    return this.#map?.get(key);
  }
  has(key: Key): boolean {
    return this.#map?.has(key) ?? false;
  }
  set(key: Key, value: Value): void {
    this.#map ??= new Map();
    this.#map.set(key, value);
  }
  delete(key: Key): boolean {
    return this.#map?.delete(key) ?? false;
  }
  clear(): void {
    this.#map = null;
  }
  values(): Iterable<Value> {
    return this.#map?.values() ?? [];
  }
  entries(): Iterable<[Key, Value]> {
    return this.#map?.entries() ?? [];
  }
}
