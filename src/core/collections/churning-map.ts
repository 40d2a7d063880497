// A map and a set whose entries come and go thousands of times per second.
//   - When deleted entries fill the table of a Map, V8 allocates a new table and links the old one to it, for
//     iterators that are still open. Once one old table has been promoted, it keeps all later tables alive,
//     and everything in them, until the next full collection. Every scavenge then copies that garbage.
//   - So these classes replace their whole Map after about as many deletions as it has entries. The last
//     table of a dropped Map has no link. Each entry is copied about once per deletion.
//   - An iteration sees the entries that it began with. Deleting the current entry is allowed.

/** Fewer deletions than this never replace the map. */
const RENEW_MIN = 32;

export class ChurningMap<Key, Value> {
  #map = new Map<Key, Value>();
  #deletions = 0;

  get size(): number {
    return this.#map.size;
  }
  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }
  has(key: Key): boolean {
    return this.#map.has(key);
  }
  set(key: Key, value: Value): void {
    this.#map.set(key, value);
  }
  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false;
    if (++this.#deletions >= RENEW_MIN && this.#deletions > this.#map.size) {
      this.#map = new Map(this.#map);
      this.#deletions = 0;
    }
    return true;
  }
  clear(): void {
    this.#map = new Map();
    this.#deletions = 0;
  }
  keys(): MapIterator<Key> {
    return this.#map.keys();
  }
  values(): MapIterator<Value> {
    return this.#map.values();
  }
  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#map.entries();
  }
}

export class ChurningSet<Value> {
  readonly #entries = new ChurningMap<Value, true>();

  get size(): number {
    return this.#entries.size;
  }
  has(value: Value): boolean {
    return this.#entries.has(value);
  }
  add(value: Value): void {
    this.#entries.set(value, true);
  }
  delete(value: Value): boolean {
    return this.#entries.delete(value);
  }
  clear(): void {
    this.#entries.clear();
  }
  [Symbol.iterator](): MapIterator<Value> {
    return this.#entries.keys();
  }
}
