// Watches the orders through a client: prints their progress, and approves orders that wait for an approval.

import type { Handle } from "../src/index.ts";
import { recordedKeys } from "./audit.ts";
import { approval, type Fulfilled } from "./fulfilment.ts";
import { activitiesOf, type Order } from "./orders.ts";
import { bar, label, type Screen } from "./screen.ts";

const LINE_EVERY_MS = 500;

export interface WatchedOrder {
  readonly order: Order;
  readonly handle: Handle<Fulfilled>;
}

export class Watch {
  readonly #orders: readonly WatchedOrder[];
  readonly #screen: Screen;
  readonly #approved = new Set<string>();
  #printedAt = -Infinity;
  #printed = "";

  constructor(orders: readonly WatchedOrder[], screen: Screen) {
    this.#orders = orders;
    this.#screen = screen;
  }

  /** Checks all orders once. Returns true if every order has ended. */
  async look(): Promise<boolean> {
    let done = 0;
    for (const { order, handle } of this.#orders) {
      const { status, waitingFor } = await handle.describe();
      if (status === "completed" || status === "failed") done++;
      if (waitingFor.some((wait) => wait.kind === "event")) await this.#approve(order, handle);
    }
    const isOver = done === this.#orders.length;
    if (isOver || performance.now() - this.#printedAt >= LINE_EVERY_MS) await this.#print(done);
    return isOver;
  }

  /** The activities in flight, according to the store. */
  async inFlight(): Promise<readonly string[]> {
    const names = this.#orders.map(async ({ order, handle }) => {
      const { waitingFor } = await handle.describe();
      return waitingFor.flatMap((wait) =>
        wait.kind === "activity" && wait.worker !== undefined ? [`${wait.name} ${order.id}`] : [],
      );
    });
    return (await Promise.all(names)).flat();
  }

  async #approve(order: Order, handle: Handle<Fulfilled>): Promise<void> {
    if (this.#approved.has(order.id)) return;
    this.#approved.add(order.id);
    await handle.raise(approval, { by: "Margaret" });
    this.#screen.log(`${label("cyan", "approve")}Margaret approves ${order.id}`);
  }

  async #print(done: number): Promise<void> {
    const all = this.#orders.reduce((sum, { order }) => sum + activitiesOf(order), 0);
    const keys = this.#orders.map(async ({ handle }) => recordedKeys(await handle.history()));
    const recorded = (await Promise.all(keys)).flat().length;
    const line =
      `${bar(recorded, all)}  ${String(recorded).padStart(2)}/${all} activities recorded, ` +
      `${String(done).padStart(2)}/${this.#orders.length} orders done`;
    this.#printedAt = performance.now();
    if (line === this.#printed) return;
    this.#printed = line;
    this.#screen.log(line);
  }
}
