// Start: inserts an instance together with its start message.
//   - An id names one instance; if it exists, `onConflict` decides (semantics 1).
//   - A repeated request id returns the result of the first call, whatever has happened since.
//   - The inbox holds the start first, then the early messages for the id (early-messages.ts), then the
//     events given with the start.
//   - A start that gets a lease returns its start message; the row stays until the first turn consumes it.

import type {
  AskStart,
  ChildStart,
  StartItem,
  StartResult,
  TurnItem,
} from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { childKey } from "../../core/provider/shared/message-keys.ts";
import { childExists } from "../../core/provider/shared/outcomes.ts";
import { byReplacement, conflictRefusal } from "../../core/provider/shared/terminations.ts";
import { defined } from "../../core/values/defined.ts";
import type { InstanceInserts, InstanceInsert } from "./instance-inserts.ts";
import { NO_KEYS, type StartKeys } from "./instance-keys.ts";
import { ColumnArrays } from "../sql/column-arrays.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { insertReturningDue, addDue, IS_LIVE } from "./delivery.ts";
import { lockHead } from "../../sql/read/heads.ts";
import type { StoreParts } from "../../sql/parts.ts";
import type { Changes, Scope } from "../../sql/script/scope.ts";
import { targetOf } from "../../sql/write/fork.ts";
import type { Script } from "../../sql/script/script.ts";
import type { BulkWriter } from "../../sql/write/bulk-starts.ts";
import { findStartRequest } from "../../sql/write/requests.ts";
import { restart } from "../../sql/write/restart.ts";
import type { Terminations } from "../../sql/write/termination.ts";
import {
  eventMessage,
  INBOX_COLUMNS,
  OF_INSTANCE,
  ON_SAME_KEY,
  type Inbox,
} from "../read/inbox.ts";
import type { InstanceHead } from "../../sql/rows/instance-rows.ts";
import type { Lease } from "../../sql/write/instance-columns.ts";
import type { Instances } from "../read/instances.ts";
import { dueColumns, messageChecksum } from "../read/messages.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import { Pipeline } from "../connection/pipeline.ts";
import type { Requests } from "./requests.ts";
import { isRegistered } from "../../sql/lease/runtimes.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const REPLIES = new ColumnArrays({
  caller: "bigint",
  execution: "bigint",
  sequence: "bigint",
  checksum: "bigint",
  id: "text",
  parent_id: "text",
  parent_run_id: "text",
  key: "text",
  data: "text",
});

/** A start by a turn: a child or a detached instance. */
export interface TurnStart {
  readonly caller: number;
  readonly instance: ChildStart;
}

interface StartParts {
  readonly inserts: InstanceInserts;
  readonly instances: Instances;
  readonly inbox: Inbox;
  readonly requests: Requests;
  readonly terminations: Terminations<Scope>;
  readonly parts: StoreParts<Scope>;
}

export class Starts extends Subject implements BulkWriter<Scope> {
  readonly #parts: StartParts;
  // Only if the existing instance was not started by this same call: its link to a parent differs.
  readonly #reply = this.prepare(
    insertReturningDue(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, (SELECT @clock()), t.execution, t.sequence, 'child', NULL, t.key, t.data,
        t.checksum
      FROM ${REPLIES.from("t")} JOIN @instances AS x ON ${indexEquals("x.id", "t.id")}
      JOIN @instances AS i ON ${indexEquals("i.key", "t.caller")}
      WHERE ${IS_LIVE} AND i.execution = t.execution AND (
        x.parent_id IS DISTINCT FROM t.parent_id
        OR x.parent_run_id IS DISTINCT FROM t.parent_run_id
        OR x.parent_execution IS DISTINCT FROM t.execution
        OR x.parent_sequence IS DISTINCT FROM t.sequence)
      ORDER BY t.n ${ON_SAME_KEY}`),
  );

  constructor(connection: Connection, parts: StartParts) {
    super(connection);
    this.#parts = parts;
  }

  /**
   * Call the returned function after the pipeline has run: it returns the results in the order of the items.
   * Null: the id exists.
   */
  start(
    pipeline: Pipeline,
    items: readonly StartItem[],
    changes: Changes,
    keys: StartKeys,
  ): () => (StartResult | null)[] {
    const inserts = items.map((item) => {
      const key = keys.get(item);
      const firstTurn = firstTurnOf(item, keys);
      if (key === undefined || firstTurn === null) return toInsert(item);
      return { ...toInsert(item), key, firstTurn };
    });
    const read = this.#parts.inserts.insert(pipeline, inserts);
    return () => {
      const inserted = read();
      return items.map((item) => {
        const found = inserted.get(item.id);
        if (found === undefined || found.runId !== item.runId) return null;
        const { key, isLeased, isDue, start } = found;
        if (!isLeased && isDue) changes.due(item.id, { owner: null, target: targetOf(item) });
        if (start === null) return { kind: "started", key, execution: 1, leased: null, due: [] };
        return { kind: "started", key, execution: 1, leased: isLeased ? start : null };
      });
    };
  }

  /**
   * Starts by turns. If the id of a child exists, its caller gets a ChildFailed message. Call the returned
   * function after the pipeline has run: it adds the new instances to `changes`.
   */
  startFromTurns(
    pipeline: Pipeline,
    starts: readonly TurnStart[],
    changes: ChangeDraft,
  ): () => void {
    if (starts.length === 0) return () => {};
    const read = this.#parts.inserts.insert(
      pipeline,
      starts.map(({ instance }) => {
        const { delayMs } = instance;
        return defined({ instance, lease: null, delayMs, events: [], requestId: null });
      }),
    );
    const replies = starts.flatMap(({ caller, instance: { id, parent } }) => {
      if (parent === null) return [];
      const { execution, sequence } = parent;
      const data = childExists(sequence, id);
      const key = childKey(parent);
      const link = { parent_id: parent.id, parent_run_id: parent.runId };
      const checksum = messageChecksum({ sequence, kind: "child", name: null, key, data });
      return [{ caller, id, execution, sequence, checksum, ...link, key, data }];
    });
    const replied =
      replies.length === 0 ? null : pipeline.add(this.#reply, REPLIES.values(replies));
    return () => {
      const inserted = read();
      for (const { instance } of starts) {
        const found = inserted.get(instance.id);
        if (found?.runId !== instance.runId || !found.isDue) continue;
        changes.due(instance.id, { owner: null, target: targetOf(instance) });
      }
      addDue(replied, changes);
    };
  }

  /** Ignores the first turns (batched-writes.2). */
  *startAll(items: readonly StartItem[], { changes }: Scope): Script<boolean> {
    const pipeline = new Pipeline();
    const read = this.start(pipeline, items, changes, NO_KEYS);
    yield pipeline;
    return read().every((result) => result !== null);
  }

  /** Starts the receiver of an ask, or restarts it. */
  async startReceiver(statements: Statements, item: AskStart, changes: ChangeDraft): Promise<void> {
    const pipeline = new Pipeline();
    const read = this.start(pipeline, [item], changes, NO_KEYS);
    await statements.all(pipeline);
    const [started = null] = read();
    if (started === null) await this.meet(statements, item, changes);
  }

  /** Applies `onConflict`: the id exists. Null: the instance was deleted meanwhile. */
  async meet(
    statements: Statements,
    item: StartItem,
    changes: ChangeDraft,
  ): Promise<StartResult | null> {
    const family = new Pipeline();
    this.#parts.instances.lockFamily(family, item.id);
    await statements.all(family);
    const existing = await statements.script(lockHead(item.id));
    if (existing === null) return null;
    const { key, execution } = existing;
    const earlier = await statements.script(findStartRequest(key, item));
    if (earlier !== null) return earlier;
    if (existing.runId === item.runId) return { kind: "started", key, execution, leased: null }; // commit.9
    const refusal = conflictRefusal(item.onConflict, existing.status);
    if (refusal !== null) return refusal;
    if (item.onConflict === "useExisting") {
      await this.#record(statements, item, "existing", existing);
      return { kind: "existing", key, execution };
    }
    if (!isTerminalStatus(existing.status)) {
      await this.#terminate(statements, existing, item.terminated, changes);
    }
    return this.#revive(statements, item, existing, changes);
  }

  async #revive(
    statements: Statements,
    item: StartItem,
    existing: InstanceHead,
    changes: ChangeDraft,
  ): Promise<StartResult> {
    const { key } = existing;
    const { delay, due_at } = dueColumns(item);
    const visibleAt = Math.max(due_at ?? statements.now + delay, statements.now);
    const isLater = visibleAt > statements.now;
    const lease = isLater ? null : await this.#leaseOf(statements, item);
    const scope = { now: statements.now, changes };
    const script = restart(item, existing, { lease, visibleAt }, scope, this.#parts.parts);
    const message = await statements.script(script);
    const { execution } = message;
    const filled = new Pipeline();
    this.#parts.inbox.put(
      filled,
      item.events.map((event) => ({ ...eventMessage(key, event), delay: null, due_at: visibleAt })),
    );
    await statements.all(filled);
    await this.#record(statements, item, "started", { key, execution });
    if (lease === null && !isLater) changes.due(item.id, { owner: null, target: targetOf(item) });
    return { kind: "started", key, execution, leased: lease === null ? null : message };
  }

  async #leaseOf(statements: Statements, { lease }: StartItem): Promise<Lease | null> {
    if (lease === null || !(await statements.script(isRegistered(lease.owner)))) return null;
    const { owner, token, leaseMs } = lease;
    const until =
      leaseMs === undefined ? null : statements.now + dueColumns({ delayMs: leaseMs }).delay;
    return { owner, token, until };
  }

  #terminate(
    statements: Statements,
    existing: InstanceHead,
    terminated: string,
    changes: ChangeDraft,
  ): Promise<void> {
    const termination = byReplacement(terminated, existing.cancelRequested);
    const scope = { now: statements.now, changes };
    return statements.script(this.#parts.terminations.end(existing, termination, scope));
  }

  async #record(
    statements: Statements,
    { requestId, requestDigest }: StartItem,
    outcome: "started" | "existing",
    { key, execution }: { readonly key: number; readonly execution: number },
  ): Promise<void> {
    if (requestId === null) return;
    const request = { instance: key, kind: "start", id: requestId } as const;
    const digest = requestDigest ?? null;
    await this.#parts.requests.insert(statements, request, { outcome, execution, digest });
  }
}

/** The first turn that the start brings along; null also if it has no key. */
export function firstTurnOf(item: StartItem, keys: StartKeys): TurnItem | null {
  const key = keys.get(item);
  if (item.firstTurn === undefined || key === undefined) return null;
  return { ...item.firstTurn, key: key.number };
}

export function toInsert(item: StartItem): InstanceInsert {
  const { lease, events, requestId, requestDigest, delayMs, dueAt } = item;
  return {
    instance: item,
    lease,
    events,
    requestId,
    ...(requestDigest === undefined ? {} : { requestDigest }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(dueAt === undefined ? {} : { dueAt }),
  };
}
