// The rest of the model: settling an item, deleting, pruning, and a snapshot of the whole state.

import type {
  CommitItem,
  CommitResult,
  DeleteResult,
  PruneRequest,
  Removed,
  TaskClaim,
} from "../../../src/core/provider/index.ts";
import { DELETED } from "../../../src/core/provider/shared/outcomes.ts";
import { askedBefore, asksOf, releaseAskers } from "./model-asks.ts";
import { startedBefore } from "./model-commits.ts";
import { notifyParent } from "./model-endings.ts";
import {
  dueOf,
  inOrder,
  isLive,
  startOf,
  toRecord,
  toTaskRecord,
  type ModelInstance,
  type ModelStore,
  type ModelTask,
} from "./model-store.ts";
import { isAppended, streamsOf } from "./model-streams.ts";

/** I14: null means that the item was not written, or that sending it again is harmless. */
export function settle(store: ModelStore, item: CommitItem): CommitResult | null {
  const done = (was: boolean): CommitResult | null => (was ? { kind: "done" } : null);
  const named = "id" in item ? store.instances.get(item.id) : undefined;
  switch (item.kind) {
    case "turn": {
      const found = store.byKey(item.key);
      if (found?.lastCommit !== item.commitId) return null;
      const isHeld = found.lease?.token === item.token;
      return { kind: "committed", due: isHeld ? dueOf(found, store.now, item.messagesMax) : [] };
    }
    case "start": {
      if (named === undefined) return null;
      const { key, execution, runId } = named.record;
      if (runId !== item.runId) return startedBefore(named, item.requestId);
      const isHeld = item.lease !== null && named.lease?.token === item.lease.token;
      const { firstTurn } = item;
      if (firstTurn !== undefined && named.lastCommit === firstTurn.commitId) {
        const due = isHeld ? dueOf(named, store.now, firstTurn.messagesMax) : [];
        return { kind: "started", key, execution, leased: null, due };
      }
      return { kind: "started", key, execution, leased: isHeld ? startOf(named) : null };
    }
    case "callback":
    case "callTask":
    case "defer":
    case "enqueue":
    case "enqueueMany":
    case "rewind":
      throw new Error(`The model does not know items of kind "${item.kind}".`);
    case "fork": {
      const found = store.instances.get(item.instance.id);
      if (found?.record.runId !== item.instance.runId) return null;
      return { kind: "started", key: found.record.key, execution: 1, leased: null };
    }
    case "completion":
      return done(taskAt(store, item.task) === undefined);
    case "retry":
    case "releaseTask":
      return done((taskAt(store, item.task)?.lease ?? null) === null);
    case "send": {
      const { id, requestId } = item;
      if (named !== undefined) return done(named.requests.has(`send:${requestId}`));
      return done(store.keptFor(id).some(({ key }) => key === requestId));
    }
    case "ask":
      return named === undefined ? null : askedBefore(named, item.requestId);
    case "stepOutcome": {
      const key = `s:${item.execution}:${item.sequence}`;
      const inbox = store.byKey(item.key)?.inbox ?? [];
      return done(
        inbox.some(
          (each) => each.kind === "step" && each.key === key && each.data === item.outcome,
        ),
      );
    }
    case "cancel":
      return done(named?.record.error === item.cancelled);
    case "terminate":
      return done(named?.record.error === item.terminated);
    case "pause":
      return done(named?.record.paused === item.info);
    case "resume":
      return done(named !== undefined && isLive(named) && named.record.paused === null);
    case "block":
      return done(store.byKey(item.key)?.record.blocked === item.reason);
    case "releaseInstance":
      return done(store.byKey(item.key)?.lease === null);
    case "append":
      return done(isAppended(store, item));
    case "trim":
    case "unblock":
    case "withdraw":
      return null;
  }
}

function taskAt(store: ModelStore, { key, execution, sequence }: TaskClaim): ModelTask | undefined {
  const tasks = store.byKey(key)?.tasks ?? [];
  return tasks.find((task) => task.execution === execution && task.sequence === sequence);
}

/** The message of a refusal is free text and not modelled. */
export function deleteInstance(
  store: ModelStore,
  { id, force }: { readonly id: string; readonly force: boolean },
): DeleteResult {
  const refused = (code: "INSTANCE_NOT_FOUND" | "INSTANCE_RUNNING" | "INVALID_ARGUMENT") =>
    ({ kind: "refused", code, message: "" }) as const;
  const root = store.instances.get(id);
  if (root === undefined) return refused("INSTANCE_NOT_FOUND");
  const tree = [root];
  for (const member of tree) {
    const isChild = (each: ModelInstance): boolean => each.record.parent?.id === member.record.id;
    tree.push(
      ...[...store.instances.values()].filter((each) => isChild(each) && !tree.includes(each)),
    );
  }
  if (!force && tree.some(isLive)) return refused("INSTANCE_RUNNING");
  const { parent } = root.record;
  if (!force && parent !== null && store.instances.has(parent.id)) {
    return refused("INVALID_ARGUMENT");
  }
  if (isLive(root)) notifyParent(store, root, DELETED);
  releaseAskers(
    store,
    tree.filter(isLive).toSorted((a, b) => a.record.key - b.record.key),
  );
  const removed = { instances: 0, executions: 0, events: 0, messages: 0 };
  for (const { record, history, inbox } of tree) {
    removed.instances += 1;
    removed.executions += new Set([...history.keys(), record.execution]).size;
    for (const rows of history.values()) removed.events += rows.at(-1)?.last ?? 0;
    removed.messages += inbox.length;
    store.instances.delete(record.id);
  }
  return { kind: "deleted", ...removed };
}

export function pruneExecutions(store: ModelStore, request: PruneRequest): Removed | null {
  const { id, keepLast = 1, completedBefore = Infinity } = request;
  const found = store.instances.get(id);
  if (found === undefined) return null;
  const { history, record } = found;
  const past = [...history.keys()].filter((execution) => execution < record.execution);
  const removed = { instances: 0, executions: 0, events: 0, messages: 0 };
  for (const execution of past.slice(0, Math.max(past.length - Math.max(keepLast - 1, 0), 0))) {
    const last = history.get(execution)?.at(-1);
    const { at }: { at: number } = JSON.parse(last?.data ?? "{}");
    if (at >= completedBefore) continue;
    removed.executions += 1;
    removed.events += last?.last ?? 0;
    history.delete(execution);
  }
  return removed;
}

/** Everything that the reads of a store show. */
export function snapshot(store: ModelStore) {
  const instances = [...store.instances.values()].toSorted((a, b) => a.record.key - b.record.key);
  return {
    runtimes: [...store.runtimes.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    instances: instances.map((instance) => ({
      record: toRecord(instance),
      executions: [...instance.history.keys()].toSorted((a, b) => a - b),
      history: instance.history.get(instance.record.execution) ?? [],
      inbox: inOrder(instance),
      tasks: instance.tasks
        .toSorted((a, b) => a.sequence - b.sequence)
        .map((task) => toTaskRecord(instance, task)),
      keyValues: [...instance.keyValues]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => ({ key, ...value })),
      asks: asksOf(instance),
      streams: streamsOf(instance),
    })),
  };
}
