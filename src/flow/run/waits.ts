// The open waits for signals, in the order in which they began.
//   - A message goes to the oldest wait for its name. After a compaction, the new execution begins its
//        branches in the order of the definition. A wait from the previous execution must therefore not
//        subscribe before all older waits have subscribed.

export class Waits {
  readonly #open: Set<number>;
  /** The waits of the previous execution that have not subscribed in this one, oldest first. */
  readonly #unsubscribed: number[];
  /** Wakes a wait whose turn has come. */
  readonly #wakeUps = new Map<number, () => void>();
  #next: number;

  constructor(orders: readonly number[]) {
    this.#open = new Set(orders);
    this.#unsubscribed = [...orders];
    this.#next = Math.max(0, ...orders) + 1;
  }

  get open(): readonly number[] {
    return [...this.#open];
  }

  /** Adds a new wait and returns its order number. */
  begin(): number {
    const order = this.#next++;
    this.#open.add(order);
    return order;
  }

  /** Resolves when all older waits of the previous execution have subscribed. */
  async turn(order: number): Promise<void> {
    if (this.#unsubscribed.indexOf(order) <= 0) return;
    await new Promise<void>((resolve) => this.#wakeUps.set(order, resolve));
  }

  /** The wait has subscribed: the next one may. */
  subscribed(order: number): void {
    const index = this.#unsubscribed.indexOf(order);
    if (index < 0) return;
    this.#unsubscribed.splice(index, 1);
    const [next] = this.#unsubscribed;
    if (next !== undefined) this.#wakeUps.get(next)?.();
  }

  end(order: number): void {
    this.#open.delete(order);
  }

  /** A branch failed, and its waits may never subscribe: release all waits that depend on them. */
  releaseAll(): void {
    this.#unsubscribed.length = 0;
    for (const resolve of this.#wakeUps.values()) resolve();
  }
}
