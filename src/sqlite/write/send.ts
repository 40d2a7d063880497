// Send: events from outside, and messages from one instance to another.
//   - A request id is recorded with its message. A repeated id sends nothing (I14); with another request it
//     is refused. The request id of a send with `hasOwnId` is not recorded (provider.asks.6).
//   - A send to an id that does not exist is refused, or stored for a later instance if the sender asked
//     for that (P4).
//   - A send from outside that cannot be delivered is refused. A message of a turn to an ended instance is
//     dropped, because its sender may have ended too.

import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import type { OutgoingMessage } from "../../core/provider/messages.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import { DONE, FINISHED, NOT_FOUND } from "../../core/provider/results.ts";
import type { Deliveries } from "./delivery.ts";
import type { Connection } from "../connection/connection.ts";
import { findEarlyMessage } from "../../sql/write/early-messages.ts";
import type { Receiver } from "../../sql/rows/instance-rows.ts";
import type { Terminations } from "../../sql/write/termination.ts";
import type { Instances } from "../read/instances.ts";
import type { EarlyMessages } from "./early-messages.ts";
import type { Transaction } from "../notify/change-draft.ts";
import type { Requests } from "./requests.ts";

interface SendParts {
  readonly instances: Instances;
  readonly requests: Requests;
  readonly deliveries: Deliveries;
  readonly terminations: Terminations<Transaction>;
  readonly earlyMessages: EarlyMessages;
}

export class Sends {
  readonly #parts: SendParts;
  readonly #connection: Connection;

  constructor(connection: Connection, parts: SendParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  send(
    item: SendItem,
    transaction: Transaction,
    target = this.#parts.instances.findReceiver(item.id),
  ): SimpleResult {
    const { requestId, requestDigest } = item;
    if (target === null) return this.#sendToMissing(item, transaction.now);
    const request = { instance: target.key, kind: "send", id: requestId } as const;
    const earlier = this.#parts.requests.find(request);
    if (earlier !== null) return repeatedSend(earlier.digest, requestDigest);
    if (isTerminalStatus(target.status)) return FINISHED;
    const { execution } = target;
    const digest = requestDigest ?? null;
    this.#parts.requests.insert(request, { outcome: "done", execution, digest }, transaction.now);
    this.#deliver(target, item, transaction);
    return DONE;
  }

  /** A send of a turn whose request id no other item has (provider.asks.6). */
  sendOnce(item: SendItem, transaction: Transaction, target: Receiver | null): SimpleResult {
    if (target === null) return this.#sendToMissing(item, transaction.now);
    if (isTerminalStatus(target.status)) return FINISHED;
    this.#deliver(target, item, transaction);
    return DONE;
  }

  #deliver(target: Receiver, item: SendItem, transaction: Transaction): void {
    const { name, data, requestId: key } = item;
    const event = { kind: "event", execution: null, sequence: null, name, data, key } as const;
    this.#parts.deliveries.deliver(target, event, transaction);
  }

  #sendToMissing(item: SendItem, now: number): SimpleResult {
    const earlier = this.#connection.run(findEarlyMessage(item), now);
    if (earlier !== null) return earlier;
    return item.ifMissing === "keep" ? this.#parts.earlyMessages.keep(item, now) : NOT_FOUND;
  }

  /**
   * A message sent by a turn. Dropped if its receiver is missing, has ended, or is another run with the same
   * id.
   */
  post(message: OutgoingMessage, transaction: Transaction): void {
    const { to } = message;
    const target = this.#parts.instances.findReceiver(to.id);
    if (target === null || isTerminalStatus(target.status)) return;
    if (to.runId !== undefined && to.runId !== target.runId) return;
    if (message.kind === "cancel") this.#requestCancel(to.id, message.data, transaction);
    else this.#parts.deliveries.deliver(target, message, transaction);
  }

  #requestCancel(id: string, request: string, transaction: Transaction): void {
    const target = this.#parts.instances.find(id);
    if (target === null) return;
    const script = this.#parts.terminations.requestCancel(target, request, transaction);
    this.#connection.run(script, transaction.now);
  }
}
