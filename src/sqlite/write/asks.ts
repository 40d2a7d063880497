// Ask: delivers a request to an instance, and starts the instance if the item says so (provider.asks).
//   - The request id is decided before anything else: a repeated ask starts nothing and returns the stored answer.
//     For a receiver that accepts the request, the insert of the id decides, which saves its lookup.
//   - A request to an instance that has ended is refused, unless the item restarts the instance.

import type { AskItem, AskResult } from "../../core/provider/asks.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { requestMessageKey } from "../../core/ids/request-messages.ts";
import { EXISTS, FINISHED, NOT_FOUND } from "../../core/provider/results.ts";
import { isForOther, repeatedAsk, type StoredAsk } from "../../core/provider/shared/asks.ts";
import type { Receiver } from "../../sql/rows/instance-rows.ts";
import type { Transaction } from "../notify/change-draft.ts";
import type { Instances } from "../read/instances.ts";
import type { Deliveries } from "./delivery.ts";
import type { Requests } from "./requests.ts";
import type { Starts } from "./start.ts";

interface AskParts {
  readonly instances: Instances;
  readonly requests: Requests;
  readonly deliveries: Deliveries;
  readonly starts: Starts;
}

export class Asks {
  readonly #parts: AskParts;

  constructor(parts: AskParts) {
    this.#parts = parts;
  }

  ask(
    item: AskItem,
    transaction: Transaction,
    target = this.#parts.instances.findReceiver(item.id),
  ): AskResult {
    if (target === null) return this.#start(item, transaction) ?? NOT_FOUND;
    const hasEnded = isTerminalStatus(target.status);
    const isOther = isForOther(item, target.name);
    if (!hasEnded && !isOther) return this.#deliver(target, item, transaction);
    const earlier = this.#parts.requests.findAsk(target.key, item.requestId);
    if (earlier !== null) return repeated(target, earlier, item);
    if (isOther) return EXISTS;
    const restarts = item.start?.onConflict === "restart";
    return (restarts ? this.#start(item, transaction) : null) ?? FINISHED;
  }

  /** Null: the item starts nothing. */
  #start(item: AskItem, transaction: Transaction): AskResult | null {
    if (item.start === null) return null;
    this.#parts.starts.start(item.start, transaction);
    const target = this.#parts.instances.findReceiver(item.id);
    if (target === null) throw new Error(`The start of "${item.id}" inserted another instance.`);
    return this.#deliver(target, item, transaction);
  }

  #deliver(target: Receiver, item: AskItem, transaction: Transaction): AskResult {
    const { name, data, requestId } = item;
    const { key, execution } = target;
    if (!this.#parts.requests.insertAsk(target, item, transaction.now)) {
      const earlier = this.#parts.requests.findAsk(key, requestId);
      if (earlier === null) throw new Error(`The ask "${requestId}" was neither new nor stored.`);
      return repeated(target, earlier, item);
    }
    const message = { kind: "event", execution: null, sequence: null, name, data } as const;
    const request = { ...message, key: requestMessageKey(requestId) };
    this.#parts.deliveries.deliver(target, request, transaction);
    return { kind: "asked", key, execution, answer: null };
  }
}

function repeated({ key, status }: Receiver, earlier: StoredAsk, item: AskItem): AskResult {
  return repeatedAsk({ key, hasEnded: isTerminalStatus(status) }, earlier, item.requestDigest);
}
