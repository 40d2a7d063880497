// Lanes: a queue with one lane per name. The lanes are served in turn, so that a single piece of work does not
// wait behind a thousand pieces of another name.
//   - Pieces of one name leave in the order in which they came.
//   - lanes.1: The queue keeps no reference to a piece that has left, because a piece holds payloads.
//   - Names come from registered definitions, so their number is bounded (I12).

interface Lane<T> {
  /** Slots before `head` are null (lanes.1). */
  waiting: (T | null)[];
  head: number;
}

export class Lanes<T extends object> {
  readonly #byName = new Map<string, Lane<T>>();
  /** The lanes that have something, in the order of their turns. */
  readonly #busy: Lane<T>[] = [];
  #turn = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(name: string, piece: T): void {
    let lane = this.#byName.get(name);
    if (lane === undefined) this.#byName.set(name, (lane = { waiting: [], head: 0 }));
    if (lane.waiting.length === 0) this.#busy.push(lane);
    lane.waiting.push(piece);
    this.#length++;
  }

  /** Removes and returns the oldest piece of the lane whose turn it is. */
  take(): T | null {
    if (this.#turn >= this.#busy.length) this.#turn = 0;
    const lane = this.#busy[this.#turn];
    if (lane === undefined) return null;
    const piece = lane.waiting[lane.head] ?? null;
    lane.waiting[lane.head++] = null;
    this.#length--;
    if (lane.head === lane.waiting.length) {
      this.#busy.splice(this.#turn, 1); // the next lane moves to this place
      lane.waiting = [];
      lane.head = 0;
      return piece;
    }
    this.#turn++;
    if (lane.head > 1_024 && lane.head * 2 > lane.waiting.length) {
      lane.waiting = lane.waiting.slice(lane.head);
      lane.head = 0;
    }
    return piece;
  }
}
