// Send: events from outside, and messages from one instance to another.
//   S1. A request id is recorded with its message; the same id again sends nothing (I14).
//   S2. A sender outside is refused what cannot arrive; a turn's messages to those who ended are dropped,
//       because their sender may have ended too.

import type { SendItem, SimpleResult } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import type { OutgoingMessage } from "../core/provider/messages.ts";
import type { Deliveries } from "./delivery.ts";
import type { Endings } from "./ending.ts";
import type { Instances } from "./instances.ts";
import type { Transaction } from "./news.ts";
import type { Requests } from "./requests.ts";
import { DONE, FINISHED, NOT_FOUND } from "./results.ts";

export class Sends {
  readonly #instances: Instances;
  readonly #requests: Requests;
  readonly #deliveries: Deliveries;
  readonly #endings: Endings;

  constructor(parts: {
    readonly instances: Instances;
    readonly requests: Requests;
    readonly deliveries: Deliveries;
    readonly endings: Endings;
  }) {
    this.#instances = parts.instances;
    this.#requests = parts.requests;
    this.#deliveries = parts.deliveries;
    this.#endings = parts.endings;
  }

  send({ id, name, data, requestId }: SendItem, transaction: Transaction): SimpleResult {
    const target = this.#instances.find(id);
    if (target === null) return NOT_FOUND;
    const request = { instance: target.key, kind: "send", id: requestId } as const;
    if (this.#requests.find(request) !== null) return DONE;
    if (isTerminalStatus(target.status)) return FINISHED;
    const { execution } = target;
    this.#requests.insert(request, { outcome: "done", execution }, transaction.now);
    this.#deliveries.deliver(
      target,
      { kind: "event", execution: null, sequence: null, name, data, key: requestId },
      transaction,
    );
    return DONE;
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
