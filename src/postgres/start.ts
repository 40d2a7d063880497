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
import { childExists, REPLACED_REQUEST } from "../core/provider/outcomes.ts";
import type { Births, Birth } from "./births.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integer, only } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { putAndTell, tellDue, LIVES } from "./delivery.ts";
import type { Endings } from "./ending.ts";
import {
  eventMessage,
  INBOX_COLUMNS,
  OF_INSTANCE,
  ON_SAME_KEY,
  startMessage,
  type Inbox,
} from "./inbox.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances, Lease } from "./instances.ts";
import type { KeyValues } from "./key-values.ts";
import { dueColumns, messageChecksum } from "./messages.ts";
import type { NewsDraft } from "./news.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import type { Requests } from "./requests.ts";
import type { Runtimes } from "./runtimes.ts";
import { probe } from "./probing.ts";

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

/** A start by a turn: a child or a detached one. */
export interface TurnStart {
  readonly caller: number;
  readonly instance: NewInstance;
}

export class Starts {
  readonly #births: Births;
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #requests: Requests;
  readonly #endings: Endings;
  readonly #runtimes: Runtimes;
  readonly #keyValues: KeyValues;
  readonly #reply: Statement;

  constructor(
    connection: Connection,
    parts: {
      readonly births: Births;
      readonly instances: Instances;
      readonly inbox: Inbox;
      readonly requests: Requests;
      readonly endings: Endings;
      readonly runtimes: Runtimes;
      readonly keyValues: KeyValues;
    },
  ) {
    this.#births = parts.births;
    this.#instances = parts.instances;
    this.#inbox = parts.inbox;
    this.#requests = parts.requests;
    this.#endings = parts.endings;
    this.#runtimes = parts.runtimes;
    this.#keyValues = parts.keyValues;
    // Whoever has the id is not this very call: its link to its parent is another.
    this.#reply = connection.prepare(
      putAndTell(`
        INSERT INTO @inbox (${INBOX_COLUMNS})
        SELECT ${OF_INSTANCE}, (SELECT @clock()), t.execution, t.sequence, 'child', NULL, t.key, t.data,
          t.checksum
        FROM ${REPLIES.from("t")} JOIN @instances AS x ON ${probe("x.id", "t.id")}
        JOIN @instances AS i ON ${probe("i.key", "t.caller")}
        WHERE ${LIVES} AND i.execution = t.execution AND (
          x.parent_id IS DISTINCT FROM t.parent_id
          OR x.parent_run_id IS DISTINCT FROM t.parent_run_id
          OR x.parent_execution IS DISTINCT FROM t.execution
          OR x.parent_sequence IS DISTINCT FROM t.sequence)
        ORDER BY t.n ${ON_SAME_KEY}`),
    );
  }

  /** What is returned reads the results, in order, when the answer is there; null: the id is taken. */
  start(
    pipeline: Pipeline,
    items: readonly StartItem[],
    news: NewsDraft,
  ): () => (StartResult | null)[] {
    const read = this.#births.bear(pipeline, items.map(toBirth));
    return () => {
      const born = read();
      return items.map((item) => {
        const found = born.get(item.id);
        if (found === undefined || found.runId !== item.runId) return null;
        const { key, isLeased, isDue, start } = found;
        if (!isLeased && isDue) news.due(item.id, { owner: null, target: targetOf(item) });
        return { kind: "started", key, execution: 1, leased: isLeased ? start : null };
      });
    };
  }

  /** Starts by turns; a caller whose child's id is taken is told so. What is returned adds to the news. */
  startFromTurns(pipeline: Pipeline, starts: readonly TurnStart[], news: NewsDraft): () => void {
    if (starts.length === 0) return () => {};
    const read = this.#births.bear(
      pipeline,
      starts.map(({ instance }) => ({ instance, lease: null, events: [], requestId: null })),
    );
    const replies = starts.flatMap(({ caller, instance: { id, parent } }) => {
      if (parent === null) return [];
      const { execution, sequence } = parent;
      const data = childExists(sequence, id);
      const key = `c:${execution}:${sequence}`;
      const link = { parent_id: parent.id, parent_run_id: parent.runId };
      const checksum = messageChecksum({ sequence, kind: "child", name: null, key, data });
      return [{ caller, id, execution, sequence, checksum, ...link, key, data }];
    });
    const replied =
      replies.length === 0 ? null : pipeline.add(this.#reply, REPLIES.values(replies));
    return () => {
      const born = read();
      for (const { instance } of starts) {
        if (born.get(instance.id)?.runId !== instance.runId) continue;
        news.due(instance.id, { owner: null, target: targetOf(instance) });
      }
      tellDue(replied, news);
    };
  }

  /** The id is taken. */
  async meet(
    statements: Statements,
    item: StartItem,
    news: NewsDraft,
  ): Promise<StartResult | null> {
    await this.#instances.lockFamily(statements, item.id);
    const existing = await this.#instances.find(statements, item.id);
    if (existing === null) return null; // it has gone since
    const { key, execution } = existing;
    const earlier = await this.#requests.findStart(statements, key, item);
    if (earlier !== null) return earlier;
    const refusal = refusalOf(item.onConflict, existing);
    if (refusal !== null) return refusal;
    if (item.onConflict === "useExisting") {
      await this.#record(statements, item, "existing", existing);
      return { kind: "existing", key, execution };
    }
    if (!isTerminalStatus(existing.status)) {
      await this.#terminate(statements, existing, item.terminated, news);
    }
    news.changed(item.id);
    return this.#revive(statements, item, existing, news);
  }

  async #revive(
    statements: Statements,
    item: StartItem,
    { key, execution: last }: InstanceHead,
    news: NewsDraft,
  ): Promise<StartResult> {
    const execution = last + 1;
    const { delay, due_at } = dueColumns(item);
    const visibleAt = Math.max(due_at ?? statements.now + delay, statements.now);
    const isLater = visibleAt > statements.now;
    const lease = isLater ? null : await this.#leaseOf(statements, item);
    const cleared = new Pipeline();
    this.#inbox.clear(cleared, [key]);
    this.#keyValues.clear(cleared, [key]);
    await statements.all(cleared);
    await this.#instances.revive(statements, item, lease);
    const filled = new Pipeline();
    const due = { delay: null, due_at: visibleAt };
    const start = { ...startMessage(key, execution, item.started), ...due };
    const put = this.#inbox.put(filled, [start]);
    this.#inbox.put(
      filled,
      item.events.map((event) => ({ ...eventMessage(key, event), ...due })),
    );
    await statements.all(filled);
    await this.#record(statements, item, "started", { key, execution });
    if (lease === null && !isLater) news.due(item.id, { owner: null, target: targetOf(item) });
    const id = integer(only(put?.rows ?? []), "id");
    const { kind, sequence, name, data, key: none } = start;
    const message = { id, kind, execution, sequence, name, data, key: none, visibleAt };
    return { kind: "started", key, execution, leased: lease === null ? null : message };
  }

  async #leaseOf(statements: Statements, { lease }: StartItem): Promise<Lease | null> {
    if (lease === null || !(await this.#runtimes.knows(statements, lease.owner))) return null;
    const { owner, token, leaseMs } = lease;
    const until =
      leaseMs === undefined ? null : statements.now + dueColumns({ delayMs: leaseMs }).delay;
    return { owner, token, until };
  }

  #terminate(
    statements: Statements,
    existing: InstanceHead,
    terminated: string,
    news: NewsDraft,
  ): Promise<void> {
    return this.#endings.end(
      statements,
      existing,
      {
        status: "terminated",
        bodies: [terminated],
        childRequest: REPLACED_REQUEST,
        cancelRequested: existing.cancelRequested,
      },
      news,
    );
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
    await this.#requests.insert(statements, request, { outcome, execution, digest });
  }
}

type Refusal = Extract<StartResult, { readonly kind: "refused" }>;

function refusalOf(policy: ConflictPolicy, existing: InstanceHead): Refusal | null {
  if (policy === "fail") return { kind: "refused", code: "INSTANCE_EXISTS" };
  if (policy === "restart" && !isTerminalStatus(existing.status)) {
    return { kind: "refused", code: "INSTANCE_RUNNING" };
  }
  return null;
}

export function toBirth(item: StartItem): Birth {
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

export function targetOf({ name, version }: NewInstance): string {
  return version === null ? name : `${name}@${version}`;
}
