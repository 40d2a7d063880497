// Termination: cancels or terminates an instance without holding its lease.
//   - The statement that ends the instance also removes the lease, so a turn in flight is refused. The
//     tasks are deleted, and children that are not abandoned are cancelled (semantics 19a).
//   - The history of the execution records the end: its start, if no turn has recorded it yet, and the
//     terminal event.
//   - A cancel ends an instance at once if its code cannot handle it: a blocked instance, and one whose
//     start time is in the future.
//   - termination.1: The instance is ended under the locks of its parent, its children and the instance that waits for its
//     end, all taken together (provider.instances.3).

import { composeRow } from "../../core/history/rows.ts";
import type { CancelItem, SimpleResult, TerminateItem } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import type { OutgoingMessage } from "../../core/provider/messages.ts";
import { DONE, FINISHED, NOT_FOUND } from "../../core/provider/results.ts";
import { childKey } from "../../core/provider/shared/message-keys.ts";
import { cancelledBy, childFailed } from "../../core/provider/shared/outcomes.ts";
import { byCancel, type Termination } from "../../core/provider/shared/terminations.ts";
import { defined } from "../../core/values/defined.ts";
import type { StoreParts } from "../parts.ts";
import { lockHead } from "../read/heads.ts";
import { findStart } from "../read/inbox.ts";
import { HEAD_COLUMNS, toHead, type InstanceHead } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import { releaseAskers } from "./asks.ts";
import { releaseWaiting } from "./enqueue-keys.ts";
import { liftPause } from "./pause.ts";

/** Children that have not ended and must be cancelled with their parent. */
const LOCK_CHILDREN = new Statement(`
  SELECT ${HEAD_COLUMNS} FROM @instances
  WHERE parent_id = $1 AND parent_run_id = $2 AND on_parent_close = 'cancel'
    AND status IN ('pending', 'running')
  ORDER BY key + 0 FOR NO KEY UPDATE`);

export class Terminations<S extends Scope> {
  readonly #parts: StoreParts<S>;

  constructor(parts: StoreParts<S>) {
    this.#parts = parts;
  }

  *cancel(item: CancelItem, scope: S): Script<SimpleResult> {
    const target = yield* this.#lock(item.id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    yield* this.requestCancel(target, item.request, scope, item.cancelled);
    return DONE;
  }

  *terminate(item: TerminateItem, scope: S): Script<SimpleResult> {
    const target = yield* this.#lock(item.id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    const { status, terminated, childRequest } = item;
    const { cancelRequested } = target;
    const bodies = [terminated] as const;
    yield* this.end(target, { status, bodies, childRequest, cancelRequested }, scope);
    return DONE;
  }

  /**
   * A cancel sent by a turn. Dropped if its receiver is missing, has ended, or is another run with the same
   * id.
   */
  *postCancel({ to, data }: OutgoingMessage, scope: S): Script<void> {
    const target = yield* this.#lock(to.id);
    if (target === null || isTerminalStatus(target.status)) return;
    if (to.runId !== undefined && to.runId !== target.runId) return;
    yield* this.requestCancel(target, data, scope);
  }

  /** Sends a cancel request to a live instance; a second request changes nothing. */
  *requestCancel(
    target: InstanceHead,
    request: string,
    scope: S,
    cancelled = cancelledBy(request),
  ): Script<void> {
    const { cancelRequested } = target;
    if (target.blocked !== null || (yield* this.#isYetToBegin(target, scope.now))) {
      return yield* this.end(target, byCancel(request, cancelled, cancelRequested), scope);
    }
    yield* liftPause(target, scope);
    if (cancelRequested !== null) return;
    const { id, runId, execution } = target;
    const cancel = { kind: "cancel", sequence: null, data: request, key: "cancel" } as const;
    yield* this.#parts.post({ to: { id, runId }, execution, ...cancel }, scope);
  }

  *end(target: InstanceHead, termination: Termination, scope: S): Script<void> {
    const { key, id, runId, lastEvent } = target;
    const start = lastEvent === 0 ? yield* findStart(key, this.#parts) : null;
    const bodies = start === null ? termination.bodies : [start.data, ...termination.bodies];
    const { status, cancelRequested, childRequest } = termination;
    const error = bodies.at(-1) ?? "";
    const row = defined({
      first: lastEvent + 1,
      last: lastEvent + bodies.length,
      data: composeRow(scope.now, bodies),
      damaged: start?.damaged,
    });
    yield* this.#parts.end(target, { status, error, cancelRequested, row }, scope);
    scope.changes.changed(id);
    yield* releaseAskers([target], scope, this.#parts);
    yield* releaseWaiting([key], scope, this.#parts);
    const children = yield* run(LOCK_CHILDREN, id, runId);
    for (const child of children.flatMap((found) => toHead(found) ?? [])) {
      yield* this.requestCancel(child, childRequest, scope);
    }
    // Also when a start replaces the instance: the new one has no parent, so nothing else would notify this
    // one.
    yield* this.notifyParent(target, error, scope);
  }

  /** Notifies the parent that its child has ended; `error` is the JSON text of OrchestrationFailed. */
  *notifyParent({ parent }: InstanceHead, error: string, scope: S): Script<void> {
    if (parent === null) return;
    const { id, runId, execution, sequence } = parent;
    const data = childFailed(sequence, error);
    const reply = { kind: "child", execution, sequence, data, key: childKey(parent) } as const;
    yield* this.#parts.post({ to: { id, runId }, ...reply }, scope);
  }

  /** termination.1 */
  *#lock(id: string): Script<InstanceHead | null> {
    yield* this.#parts.lockFamily(id);
    return yield* lockHead(id);
  }

  *#isYetToBegin({ key, status }: InstanceHead, now: number): Script<boolean> {
    if (status !== "pending") return false;
    return ((yield* findStart(key, this.#parts))?.visibleAt ?? now) > now;
  }
}
