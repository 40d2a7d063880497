// Dispatches: the items that a turn writes to other instances, as a client would submit them (provider.asks.4).
//   - They are written after everything else of the turn, in order.
//   - sqlite.dispatches.1: A turn may dispatch an item to its own instance. A start with the id of the sender may
//     replace it: then its execution has ended, no reply is delivered, and no message is due for it.

import type { Dispatch, DispatchResult, RefusedDispatch } from "../../core/provider/asks.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { dispatchReply, refusedDispatches } from "../../core/provider/shared/asks.ts";
import type { InstanceHead } from "../../sql/rows/instance-rows.ts";
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

  write(
    { key, execution, change }: TurnItem,
    dispatched: readonly Dispatch[],
    transaction: Transaction,
  ): Dispatched {
    const results = dispatched.map(
      (dispatch) => [dispatch, this.#write(dispatch, transaction)] as const,
    );
    const sender = this.#parts.instances.get(key);
    const expected = change.kind === "continued" ? execution + 1 : execution;
    const isCurrent =
      sender !== null && sender.execution === expected && !isTerminalStatus(sender.status);
    if (isCurrent && change.kind === "none") {
      for (const [dispatch, result] of results) this.#reply(sender, dispatch, result, transaction);
    }
    return { undelivered: refusedDispatches(results), isCurrent };
  }

  #write({ item }: Dispatch, transaction: Transaction): DispatchResult {
    switch (item.kind) {
      case "send":
        return this.#parts.sends.send(item, transaction);
      case "ask":
        return this.#parts.asks.ask(item, transaction);
      case "start":
        return this.#parts.starts.start(item, transaction);
      case "withdraw":
        return this.#connection.run(withdraw(item), transaction.now);
    }
  }

  #reply(
    sender: InstanceHead,
    dispatch: Dispatch,
    result: DispatchResult,
    transaction: Transaction,
  ): void {
    const reply = dispatchReply(sender, dispatch, result);
    if (reply !== null) this.#parts.deliveries.deliver(sender, reply, transaction);
  }
}
