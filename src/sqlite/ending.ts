// Ending from outside: cancel and terminate, by whoever does not hold the instance.
//   E1. The lease goes in the statement that ends the instance, so that its owner's turn under way is refused;
//       tasks go with it, and children that are not abandoned are cancelled (semantics 19a).
//   E2. The execution's history says how it ended: its start, if it had none yet, and the terminal event.
//   E3. A cancel ends at once what cannot take it: a blocked instance, and one whose time has not come.

import { composeRow } from "../core/history-row.ts";
import type { CancelItem, SimpleResult, TerminateItem } from "../core/provider/commit.ts";
import { isTerminalStatus, type TerminalStatus } from "../core/provider/instances.ts";
import { cancelledBy, childFailed } from "../core/provider/outcomes.ts";
import { DONE, FINISHED, NOT_FOUND } from "../core/provider/results.ts";
import type { Deliveries } from "./delivery.ts";
import type { History } from "./history.ts";
import type { Inbox } from "./inbox.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import type { Transaction } from "./news.ts";
import type { Pauses } from "./pause.ts";
import type { Tasks } from "./tasks.ts";

export interface Ending {
  readonly status: TerminalStatus;
  /** Texts of the events to append; the last one is OrchestrationFailed. */
  readonly bodies: readonly [...string[], string];
  /** Text of OrchestrationCancelRequested, for the children. */
  readonly childRequest: string;
  readonly cancelRequested: string | null;
}

export class Endings {
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #tasks: Tasks;
  readonly #history: History;
  readonly #deliveries: Deliveries;
  readonly #pauses: Pauses;

  constructor(parts: {
    readonly instances: Instances;
    readonly inbox: Inbox;
    readonly tasks: Tasks;
    readonly history: History;
    readonly deliveries: Deliveries;
    readonly pauses: Pauses;
  }) {
    this.#instances = parts.instances;
    this.#inbox = parts.inbox;
    this.#tasks = parts.tasks;
    this.#history = parts.history;
    this.#deliveries = parts.deliveries;
    this.#pauses = parts.pauses;
  }

  cancel(item: CancelItem, transaction: Transaction): SimpleResult {
    const target = this.#instances.find(item.id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    this.requestCancel(target, item.request, transaction, item.cancelled);
    return DONE;
  }

  terminate(item: TerminateItem, transaction: Transaction): SimpleResult {
    const target = this.#instances.find(item.id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    this.end(
      target,
      {
        status: item.status,
        bodies: [item.terminated],
        childRequest: item.childRequest,
        cancelRequested: target.cancelRequested,
      },
      transaction,
    );
    return DONE;
  }

  /** Asks a live instance to cancel itself; a second request changes nothing. */
  requestCancel(
    target: InstanceHead,
    request: string,
    transaction: Transaction,
    cancelled = cancelledBy(request),
  ): void {
    if (target.blocked !== null || this.#isYetToBegin(target, transaction.now)) {
      const { cancelRequested } = target;
      this.end(
        target,
        {
          status: "cancelled",
          bodies: cancelRequested === null ? [request, cancelled] : [cancelled],
          childRequest: request,
          cancelRequested: cancelRequested ?? request,
        },
        transaction,
      );
      return;
    }
    this.#pauses.lift(target, transaction);
    if (target.cancelRequested !== null) return;
    const { execution } = target;
    this.#deliveries.deliver(
      target,
      { kind: "cancel", execution, sequence: null, data: request, key: "cancel" },
      transaction,
    );
  }

  end(target: InstanceHead, ending: Ending, transaction: Transaction): void {
    const { now, news } = transaction;
    const { key, execution, lastEvent } = target;
    const start = lastEvent === 0 ? this.#inbox.findStart(key) : null;
    const bodies = start === null ? ending.bodies : [start.data, ...ending.bodies];
    const last = lastEvent + bodies.length;
    this.#history.append(key, execution, {
      first: lastEvent + 1,
      last,
      data: composeRow(now, bodies),
      ...(start?.damaged === true ? { damaged: true } : {}),
    });
    const { status, cancelRequested } = ending;
    const error = bodies.at(-1) ?? "";
    this.#instances.end(key, { status, error, lastEvent: last, cancelRequested, now });
    this.#tasks.clear(key, transaction);
    this.#inbox.park(key);
    news.changed(target.id);
    for (const child of this.#instances.findChildren(target)) {
      this.requestCancel(child, ending.childRequest, transaction);
    }
    // Also when another start replaces it: that one has no parent, and nobody else would tell.
    this.tellParent(target, error, transaction);
  }

  /** That its child ended, if it still waits for it; `error` is the text of OrchestrationFailed. */
  tellParent({ parent }: InstanceHead, error: string, transaction: Transaction): void {
    if (parent === null) return;
    const target = this.#instances.find(parent.id);
    if (target === null || target.runId !== parent.runId || isTerminalStatus(target.status)) return;
    const { execution, sequence } = parent;
    this.#deliveries.deliver(
      target,
      {
        kind: "child",
        execution,
        sequence,
        data: childFailed(sequence, error),
        key: `c:${execution}:${sequence}`,
      },
      transaction,
    );
  }

  #isYetToBegin(target: InstanceHead, now: number): boolean {
    if (target.status !== "pending") return false;
    return (this.#inbox.findStart(target.key)?.visibleAt ?? now) > now;
  }
}
