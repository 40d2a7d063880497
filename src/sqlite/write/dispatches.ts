// Dispatches: the items that a turn writes to other instances, as a client would submit them (provider.asks.4).
//   - They are written after everything else of the turn, in order.
//   - sqlite.dispatches.1: A turn may dispatch an item to its own instance. A start with the id of the sender may
//     replace it: then its execution has ended, no reply is delivered, and no message is due for it.

import type { Dispatch, DispatchResult, RefusedDispatch } from "../../core/provider/asks.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { refusedDispatches, replyToDispatch } from "../../core/provider/shared/asks.ts";
import type { InstanceHead, Receiver } from "../../sql/rows/instance-rows.ts";
import { withdraw } from "../../sql/write/asks.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../notify/change-draft.ts";
import type { Instances } from "../read/instances.ts";
import type { Asks } from "./asks.ts";
import type { Deliveries } from "./delivery.ts";
import type { Sends } from "./send.ts";
import type { Starts } from "./start.ts";

interface DispatchParts {
  readonly instances: Instances;
  readonly deliveries: Deliveries;
  readonly asks: Asks;
  readonly sends: Sends;
  readonly starts: Starts;
}

/** What became of the dispatched items of a turn. */
export interface Dispatched {
  readonly undelivered: readonly RefusedDispatch[];
  /** Whether the instance still runs the execution that the turn left it with (sqlite.dispatches.1). */
  readonly isCurrent: boolean;
}

export class Dispatches {
  readonly #connection: Connection;
  readonly #parts: DispatchParts;

  constructor(connection: Connection, parts: DispatchParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  write(item: TurnItem, dispatched: readonly Dispatch[], transaction: Transaction): Dispatched {
    const results: (readonly [Dispatch, DispatchResult])[] = [];
    let known: Receiver | null = null;
    for (const dispatch of dispatched) {
      const receiver = this.#receiverOf(dispatch, known);
      results.push([dispatch, this.#write(dispatch, receiver, transaction)]);
      // A send changes nothing of its receiver that a later item of this turn reads.
      known = dispatch.item.kind === "send" ? receiver : null;
    }
    const isCurrent = this.#isCurrent(item, dispatched);
    if (isCurrent && item.change.kind === "none") this.#reply(item, results, transaction);
    return { undelivered: refusedDispatches(results), isCurrent };
  }

  /** The receiver of a send or an ask. Null: there is none, or the item reads its target itself. */
  #receiverOf({ item }: Dispatch, known: Receiver | null): Receiver | null {
    if (item.kind !== "send" && item.kind !== "ask") return null;
    return known?.id === item.id ? known : this.#parts.instances.findReceiver(item.id);
  }

  #write(
    { item, hasOwnId }: Dispatch,
    receiver: Receiver | null,
    transaction: Transaction,
  ): DispatchResult {
    switch (item.kind) {
      case "send":
        return hasOwnId === true
          ? this.#parts.sends.sendOnce(item, transaction, receiver)
          : this.#parts.sends.send(item, transaction, receiver);
      case "ask":
        return this.#parts.asks.ask(item, transaction, receiver);
      case "start":
        return this.#parts.starts.start(item, transaction);
      case "withdraw":
        return this.#connection.run(withdraw(item), transaction.now);
    }
  }

  /** Only a start can replace a sender that runs (sqlite.dispatches.1): an ask restarts only an ended instance. */
  #isCurrent({ key, execution, change }: TurnItem, dispatched: readonly Dispatch[]): boolean {
    if (change.kind === "ended") return false;
    if (!dispatched.some(({ item }) => item.kind === "start")) return true;
    const sender = this.#parts.instances.get(key);
    const expected = change.kind === "continued" ? execution + 1 : execution;
    return sender !== null && sender.execution === expected && !isTerminalStatus(sender.status);
  }

  #reply(
    { key, execution }: TurnItem,
    results: readonly (readonly [Dispatch, DispatchResult])[],
    transaction: Transaction,
  ): void {
    let sender: InstanceHead | null = null;
    for (const [dispatch, result] of results) {
      const reply = replyToDispatch(execution, dispatch, result);
      if (reply === null) continue;
      sender ??= this.#parts.instances.get(key);
      if (sender !== null) this.#parts.deliveries.deliver(sender, reply, transaction);
    }
  }
}
