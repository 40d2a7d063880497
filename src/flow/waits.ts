// The waits that are open, and the order in which they began.
//   WA1. A message goes to the oldest wait of its name. A new execution begins its branches in the order of the
//        definition, so each wait of the one before stands back until those that are older have been asked for again.

export class Waits {
  readonly #open: Set<number>;
  /** Those of the execution before that have not been asked for again. */
  readonly #left: number[];
  readonly #standing = new Map<number, () => void>();
  #next: number;

  constructor(orders: readonly number[]) {
    this.#open = new Set(orders);
    this.#left = [...orders];
    this.#next = Math.max(0, ...orders) + 1;
  }

  get open(): readonly number[] {
    return [...this.#open];
  }

  /** A new wait; its place in the order. */
  begin(): number {
    const order = this.#next++;
    this.#open.add(order);
    return order;
  }

  /** Resolves when it is its turn to be asked for again. */
  async turn(order: number): Promise<void> {
    if (this.#left.indexOf(order) <= 0) return;
    await new Promise<void>((resolve) => this.#standing.set(order, resolve));
  }

  asked(order: number): void {
    const place = this.#left.indexOf(order);
    if (place < 0) return;
    this.#left.splice(place, 1);
    const [next] = this.#left;
    if (next !== undefined) this.#standing.get(next)?.();
  }

  end(order: number): void {
    this.#open.delete(order);
  }

  /** Something failed: whoever stands back might never be called, so all are. */
  giveUp(): void {
    this.#left.length = 0;
    for (const resolve of this.#standing.values()) resolve();
  }
}
