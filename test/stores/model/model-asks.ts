// Asks in the model: requests, their answers, and the instances that wait for answers.

import { requestMessageKey } from "../../../src/core/ids/request-messages.ts";
import type {
  Asker,
  AskItem,
  AskRecord,
  AskResult,
  CommitItem,
  CommitResult,
  DispatchResult,
  RefusedDispatch,
  StartItem,
  StartResult,
  TurnItem,
  WithdrawItem,
} from "../../../src/core/provider/index.ts";
// The stores compose these messages. The model checks only when they are written, not their wording.
import { replyToDispatch, unanswered } from "../../../src/core/provider/shared/asks.ts";
import { sendOnce } from "./model-sends.ts";
import { isLive, type ModelInstance, type ModelRequest, type ModelStore } from "./model-store.ts";

const NOT_FOUND = { kind: "refused", code: "INSTANCE_NOT_FOUND" } as const;
const FINISHED = { kind: "refused", code: "INSTANCE_FINISHED" } as const;
const EXISTS = { kind: "refused", code: "INSTANCE_EXISTS" } as const;
const ASK = "ask:";

export function ask(
  store: ModelStore,
  item: AskItem,
  start: (item: StartItem) => StartResult,
): AskResult {
  const found = store.instances.get(item.id);
  const earlier = found === undefined ? null : askedBefore(found, item.requestId);
  if (earlier !== null) return earlier;
  if (found !== undefined && item.start !== null && item.start.name !== found.record.name)
    return EXISTS;
  const isEnded = found !== undefined && !isLive(found);
  const restarts = item.start?.onConflict === "restart";
  if (found === undefined && item.start === null) return NOT_FOUND;
  if (isEnded && !restarts) return FINISHED;
  if (item.start !== null && (found === undefined || isEnded)) start(item.start);
  const target = store.instances.get(item.id);
  if (target === undefined) throw new Error(`the ask of "${item.id}" has started nothing`);
  const { key, execution } = target.record;
  const { requestId, name, data, asker } = item;
  target.requests.set(ASK + requestId, {
    ...{ outcome: "asked", execution, createdAt: store.now, answer: null, asker },
  });
  store.deliver(target, {
    ...{ kind: "event", execution: null, sequence: null, name, data },
    key: requestMessageKey(requestId),
  });
  return { kind: "asked", key, execution, answer: null };
}

export function askedBefore(found: ModelInstance, requestId: string): AskResult | null {
  const request = found.requests.get(ASK + requestId);
  if (request === undefined) return null;
  const { execution, answer = null } = request;
  if (stateOf(found, request) === "finished") return FINISHED;
  return { kind: "asked", key: found.record.key, execution, answer };
}

export function withdraw(store: ModelStore, { id, requestId }: WithdrawItem): void {
  const target = store.instances.get(id);
  const request = target?.requests.get(ASK + requestId);
  if (target === undefined || request === undefined) return;
  const key = requestMessageKey(requestId);
  const left = target.inbox.filter((each) => each.kind !== "event" || each.key !== key);
  if (left.length < target.inbox.length) target.requests.delete(ASK + requestId);
  else request.asker = null;
  target.inbox = left;
}

export function answer(
  store: ModelStore,
  held: ModelInstance,
  { answers = [] }: Pick<TurnItem, "answers">,
): void {
  for (const { requestId, answer: given } of answers) {
    const request = held.requests.get(ASK + requestId);
    if (request?.outcome !== "asked") continue;
    const { now: createdAt } = store;
    Object.assign(request, { outcome: "answered", answer: given, asker: null, createdAt });
  }
}

/** Notifies the instances that wait for an answer of these instances. */
export function releaseAskers(store: ModelStore, ended: readonly ModelInstance[]): void {
  for (const { record, requests } of ended) {
    for (const asker of askersOf(requests)) {
      const { to, ...message } = unanswered(asker, record.id);
      const target = store.instances.get(to.id);
      if (target === undefined || !isLive(target) || target.record.runId !== to.runId) continue;
      store.deliver(target, message);
    }
    for (const request of requests.values()) request.asker = null;
  }
}

/** In the order of their requests. */
export function askersOf(requests: ReadonlyMap<string, ModelRequest>): readonly Asker[] {
  const waiting = [...requests].toSorted(
    ([a, { createdAt: first }], [b, { createdAt: second }]) => first - second || (a < b ? -1 : 1),
  );
  return waiting.flatMap(([, { asker }]) => asker ?? []);
}

/** The unanswered asks of an instance that restarts. */
export function finishAsks(store: ModelStore, { requests }: ModelInstance): void {
  for (const request of requests.values()) {
    if (request.outcome !== "asked") continue;
    Object.assign(request, { outcome: "finished", asker: null, createdAt: store.now });
  }
}

/**
 * Writes the dispatched items of a turn, and their replies to its inbox. False: the instance has ended since, or
 * was replaced.
 */
export function dispatch(
  store: ModelStore,
  held: ModelInstance,
  item: TurnItem,
  write: (item: CommitItem) => CommitResult,
): { readonly isCurrent: boolean; readonly undelivered?: readonly RefusedDispatch[] } {
  const { dispatched = [], execution, change } = item;
  const results = dispatched.map((each) => {
    const { item: own, hasOwnId } = each;
    const isOnce = own.kind === "send" && hasOwnId === true;
    const result = isOnce ? sendOnce(store, own) : write(own);
    return [each, result as DispatchResult] as const;
  });
  const isPlain = change.kind === "none";
  const expected = change.kind === "continued" ? execution + 1 : execution;
  const isCurrent = isLive(held) && held.record.execution === expected;
  for (const [each, result] of results) {
    const reply = isPlain && isCurrent ? replyToDispatch(execution, each, result) : null;
    if (reply !== null) store.deliver(held, reply);
  }
  const undelivered = results.flatMap(([{ sequence }, result]) =>
    result.kind === "refused" ? [{ sequence, code: result.code }] : [],
  );
  return undelivered.length === 0 ? { isCurrent } : { isCurrent, undelivered };
}

/** The asks of an instance, by request id. */
export function asksOf(instance: ModelInstance): readonly AskRecord[] {
  const asks = [...instance.requests].filter(([key]) => key.startsWith(ASK)).toSorted(byKey);
  return asks.map(([key, request]) => {
    const { answer: given = null } = request;
    return { requestId: key.slice(ASK.length), state: stateOf(instance, request), answer: given };
  });
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function stateOf(instance: ModelInstance, { outcome }: ModelRequest): AskRecord["state"] {
  if (outcome === "answered") return outcome;
  return outcome === "finished" || !isLive(instance) ? "finished" : "open";
}
