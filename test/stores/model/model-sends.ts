// Sends in the model: events of clients, and events that turns dispatch.

import type { CommitResult, SendItem } from "../../../src/core/provider/index.ts";
import { isLive, type ModelInstance, type ModelStore } from "./model-store.ts";

const DONE = { kind: "done" } as const;
const NOT_FOUND = { kind: "refused", code: "INSTANCE_NOT_FOUND" } as const;
const FINISHED = { kind: "refused", code: "INSTANCE_FINISHED" } as const;

export function send(store: ModelStore, item: SendItem): CommitResult {
  const { id, requestId: key } = item;
  const target = store.instances.get(id);
  if (target === undefined) return sendToMissing(store, item);
  if (target.requests.has(`send:${key}`)) return DONE;
  if (!isLive(target)) return FINISHED;
  const { execution } = target.record;
  target.requests.set(`send:${key}`, { outcome: "done", execution, createdAt: store.now });
  return deliver(store, target, item);
}

/** A send with `hasOwnId`: its id is remembered only for an instance that does not exist (provider.asks.6). */
export function sendOnce(store: ModelStore, item: SendItem): CommitResult {
  const target = store.instances.get(item.id);
  if (target === undefined) return sendToMissing(store, item);
  return isLive(target) ? deliver(store, target, item) : FINISHED;
}

function deliver(store: ModelStore, target: ModelInstance, item: SendItem): CommitResult {
  const { name, data, requestId: key } = item;
  store.deliver(target, { kind: "event", execution: null, sequence: null, name, data, key });
  return DONE;
}

function sendToMissing(store: ModelStore, item: SendItem): CommitResult {
  const { id, name, data, requestId: key } = item;
  if (store.keptFor(id).some((each) => each.key === key)) return DONE;
  if (item.ifMissing === "fail") return NOT_FOUND;
  store.kept = store.kept.filter((each) => each.id !== id || each.key !== key);
  store.kept.push({ id, key, name, data, createdAt: store.now });
  return DONE;
}
