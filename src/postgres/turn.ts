// Turns: advances of instances, all of each or nothing of it (I1).
//   T1. The fence is the first statement's condition: key, execution, token, last event, not paused (I2). A
//       token is taken away by whoever ends or blocks an instance, so a terminal one has none to match.
//   T2. All turns of a group are written by the same few statements. A plain turn costs one row of each: an UPDATE
//       that touches no indexed column, a DELETE and an INSERT of a task, an INSERT of history, a look at the inbox.
//   T3. The statements take it that every fence holds and every finished task is there. Where that is not so the
//       transaction is refused; the group then judges first (`judge`) and writes what passed.

import { checksumOf } from "../core/checksum.ts";
import { ANY_QUARANTINE } from "../core/provider/blame.ts";
import type { TurnItem, TurnResult } from "../core/provider/commit.ts";
import type { OutgoingMessage } from "../core/provider/messages.ts";
import { LEASE_LOST, PAUSED } from "../core/provider/results.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { flag, integer, text } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { tellDue, type Deliveries } from "./delivery.ts";
import type { History } from "./history.ts";
import { messagesOf, timerMessage, wakeMessage, type Inbox } from "./inbox.ts";
import type { NewsDraft } from "./news.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import type { Starts } from "./start.ts";
import type { State } from "./state.ts";
import type { TaskHolds } from "./task-holds.ts";
import type { Tasks } from "./tasks.ts";
import type { TurnEnds } from "./turn-ends.ts";
import { probe } from "./probing.ts";

const FENCE = {
  key: "bigint",
  execution: "bigint",
  token: "bigint",
  last_event: "bigint",
} as const;
const FENCES = new ColumnArrays(FENCE);
const TURNS = new ColumnArrays({
  ...FENCE,
  last: "bigint",
  commit_id: "bigint",
  replay_version: "bigint",
  ending_checksum: "bigint",
  steps_open: "boolean",
  clears: "boolean",
  release: "boolean",
  told: "boolean",
  version: "text",
  cancel_requested: "text",
  status: "text",
  output: "text",
  error: "text",
});
const IS_HELD = `
  ${probe("i.key", "t.key")} AND i.execution = t.execution AND i.lease_token = t.token
  AND i.last_event = t.last_event`;

/** Whether cancels to others are posted with the rest; if not, somebody else sees to them. */
export interface TurnOptions {
  readonly cancelsApart: boolean;
}

export class Turns {
  readonly #parts: TurnParts;
  readonly #advance: Statement;
  readonly #judge: Statement;

  constructor(connection: Connection, parts: TurnParts) {
    this.#parts = parts;
    const unlessReleased = (column: string): string =>
      `${column} = CASE WHEN t.release THEN NULL ELSE i.${column} END`;
    // A quarantine lasts as long as the count: other code that tries the instance may end its process next (N5).
    const ifQuarantined = (column: string): string =>
      `${column} = CASE WHEN NOT t.clears AND strpos(i.blocked_by, '${ANY_QUARANTINE}') > 0
            THEN i.${column} END`;
    this.#advance = connection.prepare(`
      WITH fenced AS (
        UPDATE @instances AS i SET
          last_event = t.last, last_commit = t.commit_id, updated_at = (SELECT @clock()),
          suspicion = CASE WHEN t.clears THEN 0 WHEN t.release THEN greatest(i.suspicion - 1, 0)
            ELSE i.suspicion END,
          steps_open = t.steps_open, status = coalesce(t.status, 'running'),
          failed = coalesce(t.status <> 'completed', false), output = t.output, error = t.error,
          ending_checksum = t.ending_checksum,
          completed_at = CASE WHEN t.status IS NULL THEN NULL ELSE (SELECT @clock()) END,
          version = coalesce(t.version, i.version),
          replay_version =
            CASE WHEN t.version IS NULL THEN i.replay_version ELSE t.replay_version END,
          cancel_requested = coalesce(t.cancel_requested, i.cancel_requested),
          ${ifQuarantined("blocked")}, ${ifQuarantined("blocked_by")},
          ${unlessReleased("lease_owner")},
          ${unlessReleased("lease_token")}, ${unlessReleased("lease_until")}
        FROM ${TURNS.from("t")} WHERE ${IS_HELD} AND i.paused IS NULL
        RETURNING i.key, i.id, t.told
      )
      SELECT key, id FROM fenced WHERE told
      UNION ALL SELECT count(*), @refuse('a turn is fenced off') FROM fenced
      HAVING count(*) <> $${TURNS.width + 1}::bigint`);
    this.#judge = connection.prepare(`
      SELECT t.n, i.paused IS NOT NULL AS paused
      FROM ${FENCES.from("t")} JOIN @instances AS i ON ${IS_HELD} FOR NO KEY UPDATE OF i`);
  }

  /** What is returned adds to the news, when the answer is there. */
  write(
    pipeline: Pipeline,
    items: readonly TurnItem[],
    news: NewsDraft,
    options: TurnOptions,
  ): () => void {
    const { tasks, inbox, history, starts, deliveries, state, ends } = this.#parts;
    const sorted = items.toSorted((a, b) => a.key - b.key);
    const values = TURNS.values(sorted.map(toColumns));
    const fenced = pipeline.add(this.#advance, [...values, items.length]);
    tasks.finish(
      pipeline,
      items.flatMap(({ finished }) => finished),
    );
    history.append(
      pipeline,
      sorted.flatMap(({ key, execution, row }) =>
        row === null ? [] : [{ instance: key, execution, ...row }],
      ),
    );
    inbox.consume(
      pipeline,
      sorted.flatMap(({ key, consumed }) => consumed.map((id) => ({ id, instance: key }))),
    );
    inbox.retarget(
      pipeline,
      items.filter(({ version }) => version !== null).map(({ key }) => key),
    );
    tasks.insert(pipeline, sorted.flatMap(newTasksOf));
    const cancelled = tasks.cancel(
      pipeline,
      items.flatMap(({ key, execution, cancelledTasks }) =>
        cancelledTasks.map((sequence) => ({ key, execution, sequence })),
      ),
    );
    inbox.put(
      pipeline,
      items.flatMap(({ key, execution, timers }) =>
        timers.map((timer) => timerMessage(key, execution, timer)),
      ),
    );
    inbox.withdraw(
      pipeline,
      items.flatMap(({ key, cancelledTimers }) =>
        cancelledTimers.map((timer) => ({ ...timer, instance: key })),
      ),
    );
    const tellStarts = starts.startFromTurns(
      pipeline,
      items.flatMap((item) => item.starts.map((instance) => ({ caller: item.key, instance }))),
      news,
    );
    const posts = items.flatMap(({ sends }) => sends.filter((send) => send.kind !== "cancel"));
    const tellPosts = deliveries.post(pipeline, posts, news);
    const cancels = options.cancelsApart ? [] : cancelsOf(items);
    const tellCancels = deliveries.postCancels(pipeline, cancels, news);
    state.change(
      pipeline,
      items.flatMap((item) => (item.state === null ? [] : [{ key: item.key, state: item.state }])),
    );
    ends.write(pipeline, items);
    const going = sorted.filter(({ change }) => change.kind === "none");
    inbox.parkEvents(
      pipeline,
      going.filter(({ waitingEvents }) => waitingEvents === "park").map(({ key }) => key),
    );
    inbox.ready(
      pipeline,
      going.filter(readiesEvents).map(({ key }) => key),
    );
    inbox.put(
      pipeline,
      items
        .filter(({ release, stepsOpen, change }) => release && stepsOpen && change.kind !== "ended")
        .map(({ key, execution }) => wakeMessage(key, execution)),
    );
    return () => {
      const ids = new Map(fenced.rows.map((row) => [integer(row, "key"), text(row, "id")]));
      for (const { key, change, state: changed, tasks: born } of items) {
        const id = ids.get(key);
        if (id !== undefined && (change.kind !== "none" || changed !== null)) news.changed(id);
        for (const { lease, name } of born) if (lease === null) news.queued(name);
      }
      for (const row of cancelled?.rows ?? []) {
        const id = ids.get(integer(row, "instance"));
        if (id !== undefined) news.withdrawn(id);
      }
      tellStarts();
      tellPosts();
      tellCancels();
    };
  }

  /** What is due once everything is written; what is returned reads the results, in order. */
  due(pipeline: Pipeline, items: readonly TurnItem[], news: NewsDraft): () => TurnResult[] {
    const { inbox } = this.#parts;
    const live = items.filter(({ change }) => change.kind !== "ended");
    const freed = live.filter(({ release }) => release);
    const elsewhere = inbox.hasDue(
      pipeline,
      freed.map(({ key }) => key),
    );
    const due = inbox.due(
      pipeline,
      live
        .filter(({ release }) => !release)
        .map(({ key, messagesMax }) => ({ key, messages_max: messagesMax })),
    );
    return () => {
      tellDue(elsewhere, news);
      const messages = messagesOf(due);
      return items.map(({ key }) => ({ kind: "committed", due: messages.get(key) ?? [] }));
    };
  }

  /** Which turns would be refused, and how; the others cannot be until the transaction is over. */
  async judge(
    statements: Statements,
    items: readonly TurnItem[],
  ): Promise<Map<TurnItem, Extract<TurnResult, { readonly kind: "refused" }>>> {
    if (items.length === 0) return new Map();
    const sorted = items.toSorted((a, b) => a.key - b.key);
    const fences = sorted.map((item) => ({ ...item, last_event: item.lastEvent }));
    const rows = await statements.run(this.#judge, FENCES.values(fences));
    const paused = new Map(
      rows.map((row) => [sorted[integer(row, "n") - 1], flag(row, "paused")] as const),
    );
    const held = await this.#parts.holds.holdAll(
      statements,
      items.flatMap(({ finished }) => finished),
    );
    const refused = new Map<TurnItem, Extract<TurnResult, { readonly kind: "refused" }>>();
    for (const item of items) {
      // A pause leaves the lease to its holder (semantics 19a); nothing else does.
      if (paused.get(item) === true) refused.set(item, PAUSED);
      else if (!paused.has(item) || !item.finished.every((claim) => held.has(claim))) {
        refused.set(item, LEASE_LOST);
      }
    }
    return refused;
  }
}

function readiesEvents({ waitingEvents, consumed }: TurnItem): boolean {
  return waitingEvents === undefined ? consumed.length > 0 : waitingEvents === "ready";
}

export interface TurnParts {
  readonly inbox: Inbox;
  readonly tasks: Tasks;
  readonly holds: TaskHolds;
  readonly history: History;
  readonly starts: Starts;
  readonly deliveries: Deliveries;
  readonly state: State;
  readonly ends: TurnEnds;
}

export function cancelsOf(items: readonly TurnItem[]): OutgoingMessage[] {
  return items.flatMap(({ sends }) => sends.filter((send) => send.kind === "cancel"));
}

/** Without those that the same turn cancels again (C4). */
function newTasksOf({ key, execution, tasks, cancelledTasks }: TurnItem) {
  const cancelled = new Set(cancelledTasks);
  return tasks.flatMap((task) =>
    cancelled.has(task.sequence) ? [] : [{ ...task, key, execution }],
  );
}

function toColumns(item: TurnItem) {
  const { change } = item;
  const ended = change.kind === "ended" ? change : null;
  const { output = null, error = null } = ended ?? {};
  return {
    key: item.key,
    execution: item.execution,
    token: item.token,
    last_event: item.lastEvent,
    last: item.row?.last ?? item.lastEvent,
    commit_id: item.commitId,
    replay_version: item.replayVersion,
    steps_open: ended === null && item.stepsOpen,
    clears: ended !== null || (item.row !== null && item.keepsSuspicion !== true),
    release: ended !== null || item.release,
    told: change.kind !== "none" || item.state !== null || item.cancelledTasks.length > 0,
    version: item.version,
    cancel_requested: item.cancelRequested,
    status: ended?.status ?? null,
    output,
    error,
    ending_checksum: output === null && error === null ? null : checksumOf(output, error),
  };
}
