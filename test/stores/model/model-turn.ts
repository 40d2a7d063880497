// The effect of a turn on the model: all of it, or nothing.

import type {
  ChildStart,
  CommitItem,
  CommitResult,
  TurnItem,
} from "../../../src/core/provider/index.ts";
import { childExists } from "../../../src/core/provider/shared/outcomes.ts";
import {
  GENERATED,
  GENERATED_KEPT_MS,
  generatedBefore,
} from "../../../src/core/ids/request-ids.ts";
import { answer, dispatch, releaseAskers } from "./model-asks.ts";
import { findFinished, finish, holder } from "./model-claims.ts";
import { cancel, nextExecution, park } from "./model-endings.ts";
import {
  append,
  dueOf,
  dueTime,
  isLive,
  type ModelInstance,
  type ModelStore,
} from "./model-store.ts";
import { writeStreams } from "./model-streams.ts";

const LEASE_LOST = { kind: "refused", code: "LEASE_LOST" } as const;

/** `write` writes the dispatched items. */
export function turn(
  store: ModelStore,
  item: TurnItem,
  write: (item: CommitItem) => CommitResult,
): CommitResult {
  const { now } = store;
  const held = item.isUnleased === true ? unleased(store, item) : holder(store, item);
  if (held === null) return LEASE_LOST;
  const { record } = held;
  if (record.execution !== item.execution || record.lastEvent !== item.lastEvent) return LEASE_LOST;
  if (record.paused !== null) return { kind: "refused", code: "PAUSED" };
  if (!item.finished.every((claim) => findFinished(store, claim) !== null)) return LEASE_LOST;
  const { change, execution, version } = item;
  const isEnd = change.kind === "ended";
  const cancelRequested = item.cancelRequested ?? record.cancelRequested;
  Object.assign(record, { cancelRequested, blocked: null, updatedAt: now, status: "running" });
  record.lastEvent = item.row?.last ?? record.lastEvent;
  held.blockedBy.clear();
  if (version !== null) [record.version, held.replayVersion] = [version, item.replayVersion];
  Object.assign(held, { lastCommit: item.commitId, stepsOpen: item.stepsOpen });
  if (isEnd || (item.row !== null && item.keepsSuspicion !== true)) held.suspicion = 0;
  else if (item.release) held.suspicion = Math.max(held.suspicion - 1, 0);
  if (item.release || isEnd) held.lease = null;
  if (isEnd) {
    const { status, output, error } = change;
    Object.assign(record, { status, output, error, completedAt: now });
    held.stepsOpen = false;
  }
  for (const claim of item.finished) finish(store, claim);
  if (item.row !== null) append(held, item.row);
  held.inbox = held.inbox.filter(({ id }) => !item.consumed.includes(id));
  for (const { sequence, name, input, priority, session, lease } of item.tasks) {
    const until = lease?.leaseMs === undefined ? null : now + lease.leaseMs;
    held.tasks.push({
      ...{ execution, sequence, name, input, priority, session, tags: [], availableAt: now },
      ...{ attempt: 0, deaths: 0, suspect: false, heartbeat: null, avoid: null, progress: null },
      ...{ lastFailure: null, lease: lease === null ? null : { ...lease, until } },
    });
  }
  held.tasks = held.tasks.filter(({ sequence }) => !item.cancelledTasks.includes(sequence));
  for (const { kind, sequence, data = "", ...time } of item.timers) {
    store.post(held, { kind, sequence, execution, data, visibleAt: dueTime(time, now) });
  }
  for (const { kind, sequence } of item.cancelledTimers) {
    held.inbox = held.inbox.filter((each) => each.kind !== kind || each.sequence !== sequence);
  }
  for (const instance of item.starts) startFromTurn(store, instance, held);
  for (const { to, ...message } of item.sends) {
    const target = store.instances.get(to.id);
    if (target === undefined || !isLive(target)) continue;
    if (to.runId !== undefined && to.runId !== target.record.runId) continue;
    if (message.kind === "cancel") cancel(store, target, { request: message.data });
    else store.deliver(target, message);
  }
  answer(store, held, item);
  writeStreams(store, held, execution, item.streams ?? []);
  if (item.state !== null) changeState(store, held, item.state);
  if (isEnd) {
    held.tasks = [];
    park(held);
    releaseAskers(store, [held]);
  }
  if (change.kind === "continued") continueAsNew(store, held, change);
  if (item.release && item.stepsOpen && !isEnd) store.wake(held);
  const { isCurrent, ...rest } = dispatch(store, held, item, write);
  if (isEnd || item.release || !isCurrent) return { kind: "committed", due: [], ...rest };
  return { kind: "committed", due: dueOf(held, now, item.messagesMax), ...rest };
}

/** The instance that the turn may end without a lease (commit.7). */
function unleased(store: ModelStore, { key, change }: TurnItem): ModelInstance | null {
  const found = store.byKey(key);
  if (found?.lease !== null || found.inbox.length > 0 || change.kind !== "ended") return null;
  const { status, paused, blocked } = found.record;
  return status === "running" && paused === null && blocked === null ? found : null;
}

function continueAsNew(
  store: ModelStore,
  held: ModelInstance,
  { started, version, unread }: Extract<TurnItem["change"], { kind: "continued" }>,
): void {
  const cancels = held.inbox.filter(({ kind }) => kind === "cancel");
  const waiting = held.inbox.filter(({ kind }) => kind === "event");
  held.tasks = [];
  held.inbox = waiting;
  nextExecution(held);
  held.record.version = version;
  const { execution } = held.record;
  const { now: visibleAt } = store;
  store.putBack(held, unread);
  store.post(held, { kind: "start", execution, data: started, visibleAt });
  for (const { id: _, ...cancel } of cancels) {
    store.post(held, { ...cancel, execution, visibleAt: Math.max(cancel.visibleAt, visibleAt) });
  }
  forgetGenerated(store, held);
}

/** Forgets old generated request ids of sends and of asks that are not open. Ids chosen by callers and ids of starts are kept. */
function forgetGenerated({ now }: ModelStore, { requests }: ModelInstance): void {
  const before = now - GENERATED_KEPT_MS;
  for (const [key, { createdAt, outcome }] of requests) {
    const [kind = "", id = ""] = key.split(":");
    const isOld = id >= GENERATED && id < generatedBefore(before) && createdAt < before;
    if (kind !== "start" && isOld && outcome !== "asked") requests.delete(key);
  }
}

function startFromTurn(store: ModelStore, instance: ChildStart, caller: ModelInstance): void {
  const { id, started: data, parent } = instance;
  const existing = store.instances.get(id);
  const created = store.create(instance, null);
  if (created !== null) {
    const visibleAt = dueTime({ delayMs: instance.delayMs ?? 0 }, store.now);
    store.post(created, { kind: "start", execution: 1, data, visibleAt });
    store.handOver(created, visibleAt);
    return;
  }
  if (parent === null || !isLive(caller)) return;
  const { parent: link } = existing?.record ?? { parent: null };
  if (link !== null && JSON.stringify(link) === JSON.stringify(parent)) return; // the same call
  const { execution, sequence } = parent;
  const key = `c:${execution}:${sequence}`;
  store.deliver(caller, {
    ...{ kind: "child", execution, sequence, key, data: childExists(sequence, id) },
  });
}

function changeState(
  { now }: ModelStore,
  { record, keyValues }: ModelInstance,
  change: NonNullable<TurnItem["state"]>,
): void {
  if (change.status !== null) {
    record.customStatus = change.status.value;
    record.customStatusVersion += 1;
  }
  if (change.attributes !== null) record.attributes = change.attributes;
  for (const { key, value } of change.keyValues) {
    if (key === null) keyValues.clear();
    else if (value === null) keyValues.delete(key);
    else keyValues.set(key, { value, updatedAt: now });
  }
}
