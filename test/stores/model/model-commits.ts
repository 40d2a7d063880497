// The effect of every commit item on the model. This is a second implementation of the contract.

import type {
  CommitItem,
  CommitResult,
  RetryItem,
  StartItem,
  StartResult,
} from "../../../src/core/provider/index.ts";
import { REPLACED_REQUEST } from "../../../src/core/provider/shared/outcomes.ts";
import { ask, finishAsks, withdraw } from "./model-asks.ts";
import { countDeath, findTask, finish, holder } from "./model-claims.ts";
import { cancel, end, releaseLease, nextExecution, resume } from "./model-endings.ts";
import { send } from "./model-sends.ts";
import { append, dueTime, isLive, type ModelInstance, type ModelStore } from "./model-store.ts";
import { appendToStream, reopenStreams, trim } from "./model-streams.ts";
import { turn } from "./model-turn.ts";

const DONE = { kind: "done" } as const;
const LEASE_LOST = { kind: "refused", code: "LEASE_LOST" } as const;
const NOT_FOUND = { kind: "refused", code: "INSTANCE_NOT_FOUND" } as const;
const FINISHED = { kind: "refused", code: "INSTANCE_FINISHED" } as const;

export function commit(store: ModelStore, item: CommitItem): CommitResult {
  switch (item.kind) {
    case "start":
      return start(store, item);
    case "turn":
      return turn(store, item, (each) => commit(store, each));
    case "completion": {
      const found = finish(store, item.task);
      if (found === null) return LEASE_LOST;
      const { execution, sequence } = item.task;
      const key = `a:${execution}:${sequence}`;
      const message = { execution, sequence, data: item.outcome, key, visibleAt: store.now };
      store.post(found, { kind: "activity", ...message });
      return DONE;
    }
    case "retry":
      return retry(store, item);
    case "releaseTask": {
      const task = findTask(store, item.task);
      if (task === null) return LEASE_LOST;
      task.lease = null;
      return DONE;
    }
    case "stepOutcome": {
      const { execution, sequence, outcome: data } = item;
      const held = holder(store, item);
      if (held?.record.execution !== execution) return LEASE_LOST;
      const message = { execution, sequence, data, visibleAt: store.now };
      store.post(held, { kind: "step", ...message, key: `s:${execution}:${sequence}` });
      return DONE;
    }
    case "send":
      return send(store, item);
    case "ask":
      return ask(store, item, (each) => start(store, each));
    case "withdraw":
      withdraw(store, item);
      return DONE;
    case "append":
      return appendToStream(store, item, findTask(store, item.task) !== null);
    case "trim":
      return trim(store, item);
    case "fork": {
      const { instance, rows, keyValues, status } = item;
      const forked = store.create(instance, null);
      if (forked === null) return { kind: "refused", code: "INSTANCE_EXISTS" };
      const lastEvent = rows.at(-1)?.last ?? 0;
      const custom = { customStatus: status, customStatusVersion: status === null ? 0 : 1 };
      const past = { status: "running" as const, lastEvent, copiedUntil: lastEvent };
      Object.assign(forked.record, past, custom);
      for (const row of rows) append(forked, row);
      for (const [key, value, updatedAt] of keyValues) {
        forked.keyValues.set(key, { value, updatedAt });
      }
      store.handOver(forked, store.now);
      store.wake(forked);
      return { kind: "started", key: forked.record.key, execution: 1, leased: null };
    }
    case "block": {
      const held = holder(store, item);
      if (held === null) return LEASE_LOST;
      held.blockedBy.add(item.by);
      Object.assign(held.record, { blocked: item.reason, updatedAt: store.now });
      releaseLease(store, held);
      held.suspicion = 0;
      return DONE;
    }
    case "releaseInstance": {
      const held = holder(store, item);
      if (held === null) return LEASE_LOST;
      releaseLease(store, held);
      return DONE;
    }
    case "callback":
    case "callTask":
    case "defer":
    case "enqueue":
    case "enqueueMany":
    case "rewind":
      throw new Error(`The model does not know items of kind "${item.kind}".`);
    default:
      return toLive(store, item);
  }
}

/** The items that are refused if the instance is missing or has ended. */
function toLive(
  store: ModelStore,
  item: Extract<CommitItem, { kind: "pause" | "resume" | "unblock" | "cancel" | "terminate" }>,
): CommitResult {
  const target = store.instances.get(item.id);
  if (target === undefined) return NOT_FOUND;
  if (!isLive(target)) return FINISHED;
  const { record } = target;
  if (item.kind === "pause") {
    if (record.paused === null) {
      Object.assign(record, { paused: item.info, updatedAt: store.now });
    }
  } else if (item.kind === "resume") {
    resume(store, target);
  } else if (item.kind === "unblock") {
    const wasBlocked = record.blocked !== null;
    target.blockedBy.clear();
    target.suspicion = target.lease === null ? 0 : Math.min(target.suspicion, 1);
    Object.assign(record, { blocked: null, updatedAt: store.now });
    if (wasBlocked && record.lastEvent > 0) store.wake(target);
  } else if (item.kind === "cancel") {
    cancel(store, target, item);
  } else {
    const { status, terminated, childRequest } = item;
    end(store, target, { status, bodies: [terminated], childRequest });
  }
  return DONE;
}

function start(store: ModelStore, item: StartItem): StartResult {
  const visibleAt = Math.max(dueTime(item, store.now), store.now);
  const { owner = "", token = 0, leaseMs } = item.lease ?? {};
  const until = leaseMs === undefined ? null : store.now + leaseMs;
  const isLeased = item.lease !== null && visibleAt <= store.now && store.runtimes.has(owner);
  const lease = isLeased ? { owner, token, until } : null;
  const { requestId, onConflict } = item;
  const existing = store.instances.get(item.id);
  let target = store.create(item, lease);
  if (existing !== undefined) {
    const { key, execution } = existing.record;
    const earlier = startedBefore(existing, requestId);
    if (earlier !== null) return earlier;
    if (onConflict === "fail") return { kind: "refused", code: "INSTANCE_EXISTS" };
    if (onConflict === "useExisting") {
      if (requestId !== null) {
        const request = { outcome: "existing", execution, createdAt: store.now };
        existing.requests.set(`start:${requestId}`, request);
      }
      return { kind: "existing", key, execution };
    }
    if (onConflict === "restart" && isLive(existing)) {
      return { kind: "refused", code: "INSTANCE_RUNNING" };
    }
    if (isLive(existing)) {
      const ending = { bodies: [item.terminated], childRequest: REPLACED_REQUEST };
      end(store, existing, { status: "terminated", ...ending });
    }
    finishAsks(store, existing);
    reopenStreams(existing);
    existing.inbox = [];
    existing.keyValues.clear();
    nextExecution(existing);
    const { runId, name, version, parent, attributes, priority, onParentClose } = item;
    const { now } = store;
    Object.assign(existing.record, { runId, name, version, parent, attributes, priority });
    const cleared = { output: null, error: null, customStatus: null, cancelRequested: null };
    Object.assign(existing.record, { status: "pending", updatedAt: now, completedAt: null });
    Object.assign(existing.record, cleared);
    Object.assign(existing, { onParentClose, lease, suspicion: lease === null ? 0 : 1 });
    target = existing;
  }
  if (target === null) throw new Error("the instance is neither new nor existing");
  const { key, execution } = target.record;
  const { firstTurn } = item;
  const isBegun = lease !== null || (item.lease === null && visibleAt <= store.now);
  const hasTurn = firstTurn !== undefined && isBegun && existing === undefined;
  const started = { kind: "start", execution, data: item.started, visibleAt } as const;
  const message = hasTurn ? null : store.post(target, started);
  store.handOver(target, visibleAt);
  for (const event of item.events) store.post(target, { kind: "event", ...event, visibleAt });
  if (requestId !== null) {
    const request = { outcome: "started", execution, createdAt: store.now };
    target.requests.set(`start:${requestId}`, request);
  }
  if (hasTurn) {
    target.lease ??= { owner: "", token: 0, until: null }; // the turn of a job releases it (commit.6)
    const result = turn(store, { ...firstTurn, key }, (each) => commit(store, each));
    if (result.kind !== "committed") throw new Error("the first turn of a new instance is refused");
    return { kind: "started", key, execution, leased: null, due: result.due };
  }
  return { kind: "started", key, execution, leased: lease === null ? null : message };
}

export function startedBefore(found: ModelInstance, requestId: string | null): StartResult | null {
  const first = requestId === null ? undefined : found.requests.get(`start:${requestId}`);
  if (first === undefined) return null;
  const { execution } = first;
  const { key } = found.record;
  if (first.outcome === "existing") return { kind: "existing", key, execution };
  return { kind: "started", key, execution, leased: null };
}

function retry(store: ModelStore, item: RetryItem): CommitResult {
  const task = findTask(store, item.task);
  if (task === null) return LEASE_LOST;
  if (item.died === true) countDeath(task);
  else task.attempt += 1;
  task.availableAt = dueTime(item, store.now);
  task.lastFailure = item.failure;
  task.heartbeat = item.heartbeat ?? task.heartbeat;
  task.avoid = task.lease?.owner ?? null;
  task.lease = null;
  return DONE;
}
