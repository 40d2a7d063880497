// Ending from outside: cancel and terminate, by whoever does not hold the instance.
//   E1. The lease goes in the statement that ends the instance, so that its owner's turn under way is refused;
//       tasks go with it, and children that are not abandoned are cancelled (semantics 19a).
//   E2. The execution's history says how it ended: its start, if it had none yet, and the terminal event.
//   E3. A cancel ends at once what cannot take it: a blocked instance, and one whose time has not come.
//   E4. An instance is ended under the lock of its parent and its children too, all taken together (N3).

import { composeRow } from "../core/history-row.ts";
import type { CancelItem, SimpleResult, TerminateItem } from "../core/provider/commit.ts";
import { isTerminalStatus, type TerminalStatus } from "../core/provider/instances.ts";
import type { OutgoingMessage } from "../core/provider/messages.ts";
import { cancelledBy, childFailed } from "../core/provider/outcomes.ts";
import { DONE, FINISHED, NOT_FOUND } from "../core/provider/results.ts";
import type { Statements } from "./connection.ts";
import type { Deliveries } from "./delivery.ts";
import type { History } from "./history.ts";
import type { Inbox } from "./inbox.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import type { NewsDraft } from "./news.ts";
import type { Pauses } from "./pause.ts";
import { Pipeline } from "./pipeline.ts";
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

  async cancel(statements: Statements, item: CancelItem, news: NewsDraft): Promise<SimpleResult> {
    await this.#instances.lockFamily(statements, item.id); // E4
    const target = await this.#instances.find(statements, item.id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    await this.requestCancel(statements, target, item.request, news, item.cancelled);
    return DONE;
  }

  async terminate(
    statements: Statements,
    item: TerminateItem,
    news: NewsDraft,
  ): Promise<SimpleResult> {
    await this.#instances.lockFamily(statements, item.id); // E4
    const target = await this.#instances.find(statements, item.id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    const { status, terminated, childRequest } = item;
    const { cancelRequested } = target;
    const ending: Ending = { status, bodies: [terminated], childRequest, cancelRequested };
    await this.end(statements, target, ending, news);
    return DONE;
  }

  /** A cancel that a turn sends; dropped if its receiver is gone, ended or a namesake. */
  async postCancel(
    statements: Statements,
    { to, data }: OutgoingMessage,
    news: NewsDraft,
  ): Promise<void> {
    await this.#instances.lockFamily(statements, to.id); // E4
    const target = await this.#instances.find(statements, to.id);
    if (target === null || isTerminalStatus(target.status)) return;
    if (to.runId !== undefined && to.runId !== target.runId) return;
    await this.requestCancel(statements, target, data, news);
  }

  /** Asks a live instance to cancel itself; a second request changes nothing. */
  async requestCancel(
    statements: Statements,
    target: InstanceHead,
    request: string,
    news: NewsDraft,
    cancelled = cancelledBy(request),
  ): Promise<void> {
    const { cancelRequested } = target;
    if (target.blocked !== null || (await this.#isYetToBegin(statements, target))) {
      const ending: Ending = {
        status: "cancelled",
        bodies: cancelRequested === null ? [request, cancelled] : [cancelled],
        childRequest: request,
        cancelRequested: cancelRequested ?? request,
      };
      return this.end(statements, target, ending, news);
    }
    await this.#pauses.lift(statements, target, news);
    if (cancelRequested !== null) return;
    const { id, runId, execution } = target;
    const cancel = { execution, sequence: null, data: request, key: "cancel" };
    await this.#deliver(statements, { to: { id, runId }, kind: "cancel", ...cancel }, news);
  }

  async end(
    statements: Statements,
    target: InstanceHead,
    ending: Ending,
    news: NewsDraft,
  ): Promise<void> {
    const { key, id, execution, lastEvent } = target;
    const start = lastEvent === 0 ? await this.#inbox.findStart(statements, key) : null;
    const bodies = start === null ? ending.bodies : [start.data, ...ending.bodies];
    const last = lastEvent + bodies.length;
    const { status, cancelRequested } = ending;
    const error = bodies.at(-1) ?? "";
    await this.#instances.end(statements, key, { status, error, lastEvent: last, cancelRequested });
    const pipeline = new Pipeline();
    const data = composeRow(statements.now, bodies);
    const damage = start?.damaged === true ? { damaged: true as const } : {};
    this.#history.append(pipeline, [
      { instance: key, execution, first: lastEvent + 1, last, data, ...damage },
    ]);
    this.#tasks.clear(pipeline, [key]);
    this.#inbox.park(pipeline, [key]);
    await statements.all(pipeline);
    news.changed(id);
    for (const child of await this.#instances.findChildren(statements, target)) {
      await this.requestCancel(statements, child, ending.childRequest, news);
    }
    // Also when another start replaces it: that one has no parent, and nobody else would tell.
    await this.tellParent(statements, target, error, news);
  }

  /** That its child ended, if it still waits for it; `error` is the text of OrchestrationFailed. */
  async tellParent(
    statements: Statements,
    { parent }: InstanceHead,
    error: string,
    news: NewsDraft,
  ): Promise<void> {
    if (parent === null) return;
    const { id, runId, execution, sequence } = parent;
    const data = childFailed(sequence, error);
    const key = `c:${execution}:${sequence}`;
    const message = { to: { id, runId }, kind: "child", execution, sequence, data, key } as const;
    await this.#deliver(statements, message, news);
  }

  async #deliver(statements: Statements, message: OutgoingMessage, news: NewsDraft): Promise<void> {
    const pipeline = new Pipeline();
    this.#instances.lock(pipeline, { keys: [], ids: [message.to.id] });
    const tell = this.#deliveries.post(pipeline, [message], news);
    await statements.all(pipeline);
    tell();
  }

  async #isYetToBegin(statements: Statements, { key, status }: InstanceHead): Promise<boolean> {
    if (status !== "pending") return false;
    const start = await this.#inbox.findStart(statements, key);
    return (start?.visibleAt ?? statements.now) > statements.now;
  }
}
