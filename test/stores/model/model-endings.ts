// How instances of the model end, and how their leases are released.

import { composeRow } from "../../../src/core/history/rows.ts";
import type { CancelItem } from "../../../src/core/provider/index.ts";
// The stores compose these texts. The model checks only when they are written, not their wording.
import { cancelledBy, childFailed } from "../../../src/core/provider/shared/outcomes.ts";
import { releaseAskers } from "./model-asks.ts";
import { append, isLive, startOf, type ModelInstance, type ModelStore } from "./model-store.ts";

/** Ends an instance at once if it cannot run: a blocked instance, or a delayed start that is not due yet. */
export function cancel(
  store: ModelStore,
  target: ModelInstance,
  { request, cancelled = cancelledBy(request) }: Pick<CancelItem, "request"> & Partial<CancelItem>,
): void {
  const { record } = target;
  const isYetToBegin =
    record.status === "pending" && (startOf(target)?.visibleAt ?? store.now) > store.now;
  if (record.blocked !== null || isYetToBegin) {
    const bodies = record.cancelRequested === null ? [request, cancelled] : [cancelled];
    record.cancelRequested ??= request;
    end(store, target, { status: "cancelled", bodies, childRequest: request });
    return;
  }
  resume(store, target);
  if (record.cancelRequested !== null) return;
  const { execution } = record;
  store.deliver(target, {
    kind: "cancel",
    execution,
    sequence: null,
    data: request,
    key: "cancel",
  });
}

export function end(
  store: ModelStore,
  target: ModelInstance,
  ending: {
    readonly status: "cancelled" | "terminated" | "failed";
    readonly bodies: readonly string[];
    readonly childRequest: string;
  },
): void {
  const { now } = store;
  const { record } = target;
  const first = record.lastEvent === 0 ? startOf(target) : null;
  const bodies = first === null ? ending.bodies : [first.data, ...ending.bodies];
  const last = record.lastEvent + bodies.length;
  append(target, { first: record.lastEvent + 1, last, data: composeRow(now, bodies) });
  const error = bodies.at(-1) ?? "";
  const { status } = ending;
  const times = { updatedAt: now, completedAt: now };
  Object.assign(record, { status, error, lastEvent: last, paused: null, blocked: null, ...times });
  Object.assign(target, { lease: null, suspicion: 0, stepsOpen: false, tasks: [] });
  target.blockedBy.clear();
  park(target);
  releaseAskers(store, [target]);
  for (const child of store.instances.values()) {
    const { parent } = child.record;
    if (parent?.id !== record.id || parent.runId !== record.runId) continue;
    if (child.onParentClose !== "cancel" || !isLive(child)) continue;
    cancel(store, child, { request: ending.childRequest });
  }
  notifyParent(store, target, error);
}

export function notifyParent(store: ModelStore, { record }: ModelInstance, error: string): void {
  const { parent } = record;
  const target = parent === null ? undefined : store.instances.get(parent.id);
  if (parent === null || target?.record.runId !== parent.runId || !isLive(target)) return;
  const { execution, sequence } = parent;
  const key = `c:${execution}:${sequence}`;
  store.deliver(target, {
    ...{ kind: "child", execution, sequence, key, data: childFailed(sequence, error) },
  });
}

export function resume(store: ModelStore, { record }: ModelInstance): void {
  if (record.paused !== null) Object.assign(record, { paused: null, updatedAt: store.now });
}

/** An orderly release: it does not raise the suspicion, and open steps wake the instance (provider.instances.4). */
export function releaseLease(store: ModelStore, held: ModelInstance): void {
  Object.assign(held, { lease: null, suspicion: Math.max(held.suspicion - 1, 0) });
  if (held.stepsOpen) store.wake(held);
}

export function nextExecution(instance: ModelInstance): void {
  const { record } = instance;
  Object.assign(record, { execution: record.execution + 1, lastEvent: 0, copiedUntil: 0 });
  Object.assign(instance, { replayVersion: null, stepsOpen: false });
}

/** An ended instance keeps only its unread events. */
export function park(instance: ModelInstance): void {
  instance.inbox = instance.inbox.filter(({ kind }) => kind === "event");
}
