// Start: an instance and its start message, in one.
//   T1. An id names one instance; who meets it follows `onConflict` (semantics 1).
//   T2. A repeated request id is answered with what the first call was told, whatever has happened since.
//   T3. Its mailbox holds, behind the start, what was kept for its id (kept.ts), then the events it came with.
//   T4. A start that is born leased hands over its message; the row stays until the first turn consumes it.

import type {
  ConflictPolicy,
  NewInstance,
  StartItem,
  StartResult,
} from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import type { Message } from "../core/provider/messages.ts";
import { childExists, REPLACED_REQUEST } from "../core/provider/outcomes.ts";
import type { Deliveries } from "./delivery.ts";
import type { Endings } from "./ending.ts";
import type { Inbox } from "./inbox.ts";
import { dueTime, startMessage } from "./messages.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances, Lease } from "./instances.ts";
import type { KeptMessages } from "./kept.ts";
import type { KeyValues } from "./key-values.ts";
import type { Transaction } from "./news.ts";
import type { Requests } from "./requests.ts";
import type { Runtimes } from "./runtimes.ts";

type Refusal = Extract<StartResult, { readonly kind: "refused" }>;

export class Starts {
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #requests: Requests;
  readonly #endings: Endings;
  readonly #deliveries: Deliveries;
  readonly #runtimes: Runtimes;
  readonly #kept: KeptMessages;
  readonly #keyValues: KeyValues;

  constructor(parts: {
    readonly instances: Instances;
    readonly inbox: Inbox;
    readonly requests: Requests;
    readonly endings: Endings;
    readonly deliveries: Deliveries;
    readonly runtimes: Runtimes;
    readonly kept: KeptMessages;
    readonly keyValues: KeyValues;
  }) {
    this.#instances = parts.instances;
    this.#inbox = parts.inbox;
    this.#requests = parts.requests;
    this.#endings = parts.endings;
    this.#deliveries = parts.deliveries;
    this.#runtimes = parts.runtimes;
    this.#kept = parts.kept;
    this.#keyValues = parts.keyValues;
  }

  start(item: StartItem, transaction: Transaction): StartResult {
    const { now } = transaction;
    const visibleAt = Math.max(dueTime(item, now), now);
    const lease = visibleAt > now ? null : this.#leaseOf(item, now);
    const place = { lease, visibleAt };
    const key = this.#instances.insert(item, lease, now);
    if (key === null) return this.#meet(item, place, transaction);
    const message = this.#queue(key, 1, item.started, visibleAt);
    this.#kept.handOver({ id: item.id, key, execution: 1 }, visibleAt, now);
    return this.#started(item, message, key, place, transaction);
  }

  /** A start by a turn: a child, whose caller is told if the id is taken, or a detached one. */
  startFromTurn(instance: NewInstance, caller: number, transaction: Transaction): void {
    const { now, news } = transaction;
    const key = this.#instances.insert(instance, null, now);
    if (key !== null) {
      this.#queue(key, 1, instance.started, now);
      this.#kept.handOver({ id: instance.id, key, execution: 1 }, now, now);
      news.due(instance.id);
      return;
    }
    const { parent } = instance;
    if (parent === null || isSameCall(this.#instances.find(instance.id), instance)) return;
    const target = this.#instances.get(caller);
    if (target === null || isTerminalStatus(target.status)) return;
    const { execution, sequence } = parent;
    const data = childExists(sequence, instance.id);
    const reply = { execution, sequence, data, key: `c:${execution}:${sequence}` };
    this.#deliveries.deliver(target, { kind: "child", ...reply }, transaction);
  }

  #leaseOf({ lease }: StartItem, now: number): Lease | null {
    if (lease === null || !this.#runtimes.knows(lease.owner)) return null;
    const { owner, token, leaseMs } = lease;
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    return { owner, token, until };
  }

  /** The id is taken. */
  #meet(item: StartItem, place: Place, transaction: Transaction): StartResult {
    const existing = this.#instances.find(item.id);
    if (existing === null) throw new Error(`Instance "${item.id}" is neither new nor there.`);
    const { key, execution } = existing;
    const earlier = this.#requests.findStart(key, item);
    if (earlier !== null) return earlier;
    const refusal = refusalOf(item.onConflict, existing);
    if (refusal !== null) return refusal;
    if (item.onConflict === "useExisting") {
      this.#record(item, "existing", existing, transaction);
      return { kind: "existing", key, execution };
    }
    if (!isTerminalStatus(existing.status)) this.#terminate(existing, item.terminated, transaction);
    this.#inbox.clear(key);
    this.#keyValues.clear(key);
    this.#instances.revive(item, place.lease, transaction.now);
    transaction.news.changed(item.id);
    const message = this.#queue(key, execution + 1, item.started, place.visibleAt);
    return this.#started(item, message, key, place, transaction);
  }

  #terminate(existing: InstanceHead, terminated: string, transaction: Transaction): void {
    this.#endings.end(
      existing,
      {
        status: "terminated",
        bodies: [terminated],
        childRequest: REPLACED_REQUEST,
        cancelRequested: existing.cancelRequested,
      },
      transaction,
    );
  }

  #started(
    item: StartItem,
    message: Message,
    key: number,
    { lease, visibleAt }: Place,
    transaction: Transaction,
  ): StartResult {
    const execution = message.execution ?? 1;
    this.#inbox.insertEvents(key, item.events, visibleAt);
    this.#record(item, "started", { key, execution }, transaction);
    if (lease === null && visibleAt <= transaction.now) transaction.news.due(item.id);
    return { kind: "started", key, execution, leased: lease === null ? null : message };
  }

  #queue(key: number, execution: number, data: string, visibleAt: number): Message {
    return this.#inbox.insertStart(key, startMessage(execution, data, visibleAt));
  }

  #record(
    item: StartItem,
    outcome: "started" | "existing",
    { key, execution }: { readonly key: number; readonly execution: number },
    { now }: Transaction,
  ): void {
    if (item.requestId === null) return;
    const request = { instance: key, kind: "start", id: item.requestId } as const;
    const digest = item.requestDigest ?? null;
    this.#requests.insert(request, { outcome, execution, digest }, now);
  }
}

interface Place {
  readonly lease: Lease | null;
  readonly visibleAt: number;
}

function refusalOf(policy: ConflictPolicy, existing: InstanceHead): Refusal | null {
  if (policy === "fail") return { kind: "refused", code: "INSTANCE_EXISTS" };
  if (policy === "restart" && !isTerminalStatus(existing.status)) {
    return { kind: "refused", code: "INSTANCE_RUNNING" };
  }
  return null;
}

/** Whether the instance that is there was made by this very call. */
function isSameCall(existing: InstanceHead | null, { parent }: NewInstance): boolean {
  const link = existing?.parent;
  if (link === undefined || link === null || parent === null) return false;
  return (
    link.id === parent.id &&
    link.runId === parent.runId &&
    link.execution === parent.execution &&
    link.sequence === parent.sequence
  );
}
