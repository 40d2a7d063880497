// Start: inserts an instance together with its start message.
//   - An id names one instance; if it exists, `onConflict` decides (semantics 1).
//   - A repeated request id returns the result of the first call, whatever has happened since.
//   - The inbox holds the start first, then the early messages for the id (early-messages.ts), then the
//     events given with the start.
//   - A start that gets a lease returns its start message; the row stays until the first turn consumes it.

import type {
  ChildStart,
  NewInstance,
  StartItem,
  StartResult,
  TurnItem,
} from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import type { Message } from "../../core/provider/messages.ts";
import { childKey } from "../../core/provider/shared/message-keys.ts";
import { childExists } from "../../core/provider/shared/outcomes.ts";
import { byReplacement, conflictRefusal } from "../../core/provider/shared/terminations.ts";
import type { Deliveries } from "./delivery.ts";
import type { Connection } from "../connection/connection.ts";
import type { StoreParts } from "../../sql/parts.ts";
import { restart } from "../../sql/write/restart.ts";
import type { Terminations } from "../../sql/write/termination.ts";
import type { Inbox } from "../read/inbox.ts";
import { dueTime, startMessage } from "../read/messages.ts";
import type { InstanceHead } from "../../sql/rows/instance-rows.ts";
import type { Lease } from "../../sql/write/instance-columns.ts";
import type { Instances } from "../read/instances.ts";
import type { EarlyMessages } from "./early-messages.ts";
import type { Transaction } from "../notify/change-draft.ts";
import type { Requests } from "./requests.ts";
import { isRegistered } from "../../sql/lease/runtimes.ts";

interface StartParts {
  readonly instances: Instances;
  readonly inbox: Inbox;
  readonly requests: Requests;
  readonly terminations: Terminations<Transaction>;
  readonly deliveries: Deliveries;
  readonly earlyMessages: EarlyMessages;
  readonly parts: StoreParts<Transaction>;
}

/** A new instance whose first turn must follow in the same transaction (commit.5). */
export interface BegunStart {
  readonly kind: "begun";
  readonly key: number;
  /** Whether the row already has the values of the turn. */
  readonly hasTurnColumns: boolean;
  /** Whether the inbox has messages. */
  readonly hasMessages: boolean;
}

export class Starts {
  readonly #parts: StartParts;
  readonly #connection: Connection;

  constructor(connection: Connection, parts: StartParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  /** Ignores the first turn, if there is one. */
  start(item: StartItem, transaction: Transaction): StartResult {
    const { now } = transaction;
    const first = this.#firstLease(item, now);
    const { lease, visibleAt } = first;
    const key = this.#parts.instances.insert(item, lease, now);
    if (key === null) return this.#meet(item, first, transaction);
    const message = this.#insertStart(key, 1, item.started, visibleAt);
    this.#parts.earlyMessages.handOver({ id: item.id, key, execution: 1 }, visibleAt, now);
    return this.#started(item, message, key, first, transaction);
  }

  /** Inserts everything but the start message, which the first turn has consumed (commit.5, commit.6). */
  startWithTurn(
    item: StartItem,
    turn: TurnItem,
    transaction: Transaction,
  ): StartResult | BegunStart {
    const { now } = transaction;
    const first = this.#firstLease(item, now);
    const { lease } = first;
    const { instances, earlyMessages, inbox } = this.#parts;
    const hasTurnColumns =
      turn.change.kind === "none" && turn.cancelRequested === null && turn.keepsSuspicion !== true;
    const isJob = item.lease === null && first.visibleAt <= now && turn.release && hasTurnColumns;
    if (lease === null && !isJob) return this.start(item, transaction);
    const key = hasTurnColumns
      ? instances.insertBegun(item, lease, turn, now)
      : instances.insert(item, lease, now);
    if (key === null) return this.#meet(item, first, transaction);
    const handedOver = earlyMessages.handOver({ id: item.id, key, execution: 1 }, now, now);
    inbox.insertEvents(key, item.events, now);
    this.#record(item, "started", { key, execution: 1 }, transaction);
    return {
      kind: "begun",
      key,
      hasTurnColumns,
      hasMessages: handedOver || item.events.length > 0,
    };
  }

  /**
   * A start by a turn: a child or a detached instance. If the id of a child exists, its caller gets a
   * ChildFailed message.
   */
  startFromTurn(instance: ChildStart, caller: number, transaction: Transaction): void {
    const { now, changes } = transaction;
    const key = this.#parts.instances.insert(instance, null, now);
    if (key !== null) {
      const visibleAt = instance.delayMs === undefined ? now : dueTime(instance, now);
      this.#insertStart(key, 1, instance.started, visibleAt);
      this.#parts.earlyMessages.handOver({ id: instance.id, key, execution: 1 }, visibleAt, now);
      if (visibleAt <= now) changes.due(instance.id);
      return;
    }
    const { parent } = instance;
    if (parent === null || isSameCall(this.#parts.instances.find(instance.id), instance)) return;
    const target = this.#parts.instances.get(caller);
    if (target === null || isTerminalStatus(target.status)) return;
    const { execution, sequence } = parent;
    const data = childExists(sequence, instance.id);
    const reply = { execution, sequence, data, key: childKey(parent) };
    this.#parts.deliveries.deliver(target, { kind: "child", ...reply }, transaction);
  }

  #firstLease(item: StartItem, now: number): FirstLease {
    const visibleAt = Math.max(dueTime(item, now), now);
    return { lease: visibleAt > now ? null : this.#leaseOf(item, now), visibleAt };
  }

  #leaseOf({ lease }: StartItem, now: number): Lease | null {
    if (lease === null || !this.#connection.run(isRegistered(lease.owner))) return null;
    const { owner, token, leaseMs } = lease;
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    return { owner, token, until };
  }

  /** Applies `onConflict`: the id exists. */
  #meet(item: StartItem, first: FirstLease, transaction: Transaction): StartResult {
    const existing = this.#parts.instances.find(item.id);
    if (existing === null)
      throw new Error(`Instance "${item.id}" could be neither inserted nor found.`);
    const { key, execution } = existing;
    const earlier = this.#parts.requests.findStart(key, item);
    if (earlier !== null) return earlier;
    if (existing.runId === item.runId) return { kind: "started", key, execution, leased: null }; // commit.9
    const refusal = conflictRefusal(item.onConflict, existing.status);
    if (refusal !== null) return refusal;
    if (item.onConflict === "useExisting") {
      this.#record(item, "existing", existing, transaction);
      return { kind: "existing", key, execution };
    }
    if (!isTerminalStatus(existing.status)) this.#terminate(existing, item.terminated, transaction);
    const script = restart(item, existing, first, transaction, this.#parts.parts);
    const message = this.#connection.run(script, transaction.now);
    return this.#started(item, message, key, first, transaction);
  }

  #terminate(existing: InstanceHead, terminated: string, transaction: Transaction): void {
    const termination = byReplacement(terminated, existing.cancelRequested);
    this.#connection.run(
      this.#parts.terminations.end(existing, termination, transaction),
      transaction.now,
    );
  }

  #started(
    item: StartItem,
    message: Message,
    key: number,
    { lease, visibleAt }: FirstLease,
    transaction: Transaction,
  ): StartResult {
    const execution = message.execution ?? 1;
    this.#parts.inbox.insertEvents(key, item.events, visibleAt);
    this.#record(item, "started", { key, execution }, transaction);
    if (lease === null && visibleAt <= transaction.now) transaction.changes.due(item.id);
    return { kind: "started", key, execution, leased: lease === null ? null : message };
  }

  #insertStart(key: number, execution: number, data: string, visibleAt: number): Message {
    return this.#parts.inbox.insertStart(key, startMessage(execution, data, visibleAt));
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
    this.#parts.requests.insert(request, { outcome, execution, digest }, now);
  }
}

/** The lease that the new execution gets, and when its start becomes visible. */
interface FirstLease {
  readonly lease: Lease | null;
  readonly visibleAt: number;
}

/** Whether the existing instance was started by this same call. */
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
