// Send: events from outside, and messages from one instance to another.
//   S1. A request id is recorded with its message; the same id again sends nothing (I14), and for another request it is
//       refused.
//   S2. What is sent to an id that does not exist is refused, or kept if the sender asked for that (P4).
//   S3. A sender outside is refused what cannot arrive; a turn's messages to those who ended are dropped,
//       because their sender may have ended too.

import type { SendItem, SimpleResult } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import type { OutgoingMessage } from "../core/provider/messages.ts";
import { DONE, FINISHED, isOtherRequest, KEY_REUSED, NOT_FOUND } from "../core/provider/results.ts";
import type { Deliveries } from "./delivery.ts";
import type { Endings } from "./ending.ts";
import type { Instances } from "./instances.ts";
import type { KeptMessages } from "./kept.ts";
import type { Transaction } from "./news.ts";
import type { Requests } from "./requests.ts";

export class Sends {
  readonly #instances: Instances;
  readonly #requests: Requests;
  readonly #deliveries: Deliveries;
  readonly #endings: Endings;
  readonly #kept: KeptMessages;

  constructor(parts: {
    readonly instances: Instances;
    readonly requests: Requests;
    readonly deliveries: Deliveries;
    readonly endings: Endings;
    readonly kept: KeptMessages;
  }) {
    this.#instances = parts.instances;
    this.#requests = parts.requests;
    this.#deliveries = parts.deliveries;
    this.#endings = parts.endings;
    this.#kept = parts.kept;
  }

  send(item: SendItem, transaction: Transaction): SimpleResult {
    const { id, name, data, requestId, requestDigest } = item;
    const target = this.#instances.find(id);
    if (target === null) return this.#toMissing(item, transaction.now);
    const request = { instance: target.key, kind: "send", id: requestId } as const;
    const earlier = this.#requests.find(request);
    if (earlier !== null) return isOtherRequest(earlier.digest, requestDigest) ? KEY_REUSED : DONE;
    if (isTerminalStatus(target.status)) return FINISHED;
    const { execution } = target;
    const digest = requestDigest ?? null;
    this.#requests.insert(request, { outcome: "done", execution, digest }, transaction.now);
    this.#deliveries.deliver(
      target,
      { kind: "event", execution: null, sequence: null, name, data, key: requestId },
      transaction,
    );
    return DONE;
  }

  #toMissing(item: SendItem, now: number): SimpleResult {
    const earlier = this.#kept.find(item, now);
    if (earlier !== null) return earlier;
    return item.ifMissing === "keep" ? this.#kept.keep(item, now) : NOT_FOUND;
  }

  /** A message that a turn sends. */
  post(message: OutgoingMessage, transaction: Transaction): void {
    const { to } = message;
    const target = this.#instances.find(to.id);
    if (target === null || isTerminalStatus(target.status)) return;
    if (to.runId !== undefined && to.runId !== target.runId) return;
    if (message.kind === "cancel") this.#endings.requestCancel(target, message.data, transaction);
    else this.#deliveries.deliver(target, message, transaction);
  }
}
