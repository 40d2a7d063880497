// Turns: advances instances; each turn is written completely or not at all (I1).
//   - The fence is the condition of the first statement: key, execution, token, last event, not paused
//     (I2). Ending or blocking an instance removes its token, so the token of a turn cannot match an ended
//     instance.
//   - postgres.turn.1: A turn that ends a job without a lease (commit.7) has another fence: the instance must have no lease
//     and an empty inbox. The inbox is read by a later statement than the one that locks the instance, because only then
//     does its snapshot show every message that was posted before.
//   - All turns of a group are written by the same few statements. A plain turn costs one row of each: an
//     UPDATE that touches no indexed column, a DELETE and an INSERT of a task, an INSERT of history, a read
//     of the inbox.
//   - The statements assume that every fence holds, that every finished task exists, that its streams have its values
//     (postgres.streams.4), and that every session in which a task is leased is held (sessions.5). If not, the
//     transaction is refused; the group then checks first (`check`) and writes the turns that passed.

import { ANY_QUARANTINE } from "../../core/provider/shared/blame.ts";
import type { TurnItem, TurnResult } from "../../core/provider/commit.ts";
import type { OutgoingMessage } from "../../core/provider/messages.ts";
import type { SessionClaim, TaskClaim } from "../../core/provider/tasks.ts";
import { LEASE_LOST, PAUSED } from "../../core/provider/results.ts";
import { ColumnArrays, columns, plain } from "../sql/column-arrays.ts";
import { flag, integer, text } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { addDue, type Deliveries } from "./delivery.ts";
import type { History } from "../read/history.ts";
import { messagesOf, timerMessage, wakeMessage, type Inbox } from "../read/inbox.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import type { Starts } from "./start.ts";
import type { Answers } from "./answers.ts";
import type { CallbackRows } from "./callback-rows.ts";
import type { State } from "./state.ts";
import { claimKey, type Sessions } from "../lease/sessions.ts";
import type { TaskRenewal } from "../lease/task-renewal.ts";
import type { Tasks } from "../lease/tasks.ts";
import type { Streams } from "./streams.ts";
import { TURN_COLUMNS, turnColumns } from "./turn-columns.ts";
import type { TurnCompletion } from "./turn-completion.ts";
import { exists, indexEquals } from "../../sql/index-lookup.ts";

const FENCE = {
  ...columns("bigint", "key", "execution", "token", "last_event"),
  is_unleased: "boolean",
} as const;
const FENCES = new ColumnArrays(FENCE);
const TURNS = new ColumnArrays({ ...FENCE, ...TURN_COLUMNS, is_reported: "boolean" });
const IS_HELD = `
  ${indexEquals("i.key", "t.key")} AND i.execution = t.execution AND i.last_event = t.last_event
  AND CASE WHEN t.is_unleased
    THEN i.lease_token IS NULL AND i.status = 'running' AND i.paused IS NULL AND i.blocked IS NULL
    ELSE i.lease_token = t.token END`;

type CommittedTurn = Extract<TurnResult, { readonly kind: "committed" }>;

export interface TurnOptions {
  /**
   * True: the caller sends the cancels and notifies the askers of instances that end. False: cancels are written
   * with the other messages, and the end of an instance with askers refuses the transaction.
   */
  readonly stepwise: boolean;
  /**
   * Ids by key of the instances that the pipeline has inserted together with these turns (commit.5). Their
   * rows need no update.
   */
  readonly inserted: ReadonlyMap<number, string>;
  /** Claims of other items. If one does not hold, the transaction is refused (postgres.streams.2). */
  readonly held: readonly TaskClaim[];
}

const unlessReleased = (column: string): string =>
  `${column} = CASE WHEN t.release THEN NULL ELSE i.${column} END`;
// A quarantine lasts as long as the suspicion count: under other code the instance may crash its process
// again (provider.instances.5).
const ifQuarantined = (column: string): string =>
  `${column} = CASE WHEN NOT t.clears AND strpos(i.blocked_by, '${ANY_QUARANTINE}') > 0
        THEN i.${column} END`;

export class Turns extends Subject {
  readonly #parts: TurnParts;
  readonly #advance = this.prepare(`
    WITH fenced AS (
      UPDATE @instances AS i SET
        last_event = t.last, last_commit = t.commit_id, updated_at = (SELECT @clock()),
        suspicion = CASE WHEN t.clears THEN 0 WHEN t.release THEN greatest(i.suspicion - 1, 0)
          ELSE i.suspicion END,
        steps_open = t.steps_open, status = coalesce(t.status, 'running'),
        failed = coalesce(t.status <> 'completed', false), output = t.output, error = t.error,
        ending_checksum = t.ending_checksum,
        completed_at = CASE WHEN t.status IS NULL THEN NULL ELSE (SELECT @clock()) END,
        delete_after = (SELECT @clock()) + t.keep_ms,
        version = coalesce(t.turn_version, i.version),
        replay_version =
          CASE WHEN t.turn_version IS NULL THEN i.replay_version ELSE t.replay_version END,
        cancel_requested = coalesce(t.cancel_requested, i.cancel_requested),
        ${ifQuarantined("blocked")}, ${ifQuarantined("blocked_by")},
        ${unlessReleased("lease_owner")},
        ${unlessReleased("lease_token")}, ${unlessReleased("lease_until")}
      FROM ${TURNS.from("t")} WHERE ${IS_HELD} AND i.paused IS NULL
      RETURNING i.key, i.id, t.is_reported
    )
    SELECT key, id FROM fenced WHERE is_reported
    UNION ALL SELECT count(*), @refuse('a turn is fenced off') FROM fenced
    HAVING count(*) <> $${TURNS.width + 1}::bigint`);
  readonly #check = this.prepare(`
    SELECT t.n, i.paused IS NOT NULL AS paused
    FROM ${FENCES.from("t")} JOIN @instances AS i ON ${IS_HELD} FOR NO KEY UPDATE OF i`);

  readonly #selectReached = this.prepare(`
    SELECT k.key FROM unnest($1::bigint[]) AS k (key)
    WHERE ${exists("FROM @inbox AS m WHERE m.instance = k.key")}`);

  constructor(connection: Connection, parts: TurnParts) {
    super(connection);
    this.#parts = parts;
  }

  /** Call the returned function after the pipeline has run: it adds the affected instances to `changes`. */
  write(
    pipeline: Pipeline,
    items: readonly TurnItem[],
    changes: ChangeDraft,
    options: TurnOptions,
  ): () => void {
    const { tasks, sessions, inbox, history, starts, deliveries, state, answers } = this.#parts;
    const { callbackRows, completion } = this.#parts;
    const sorted = items.toSorted((a, b) => a.key - b.key);
    const advanced = sorted.filter(({ key }) => !options.inserted.has(key));
    const fenced =
      advanced.length === 0
        ? null
        : pipeline.add(this.#advance, [...TURNS.values(advanced.map(toColumns)), advanced.length]);
    this.#parts.taskRenewal.hold(pipeline, options.held);
    const ended = items.flatMap(({ finished }) => finished);
    tasks.finish(pipeline, ended);
    sessions.bump(pipeline, { ended, needed: items.flatMap(sessionClaimsOf) });
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
      advanced.filter(({ version }) => version !== null).map(({ key }) => key),
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
    const addStarts = starts.startFromTurns(
      pipeline,
      items.flatMap((item) => item.starts.map((instance) => ({ caller: item.key, instance }))),
      changes,
    );
    const posts = items.flatMap(({ sends }) => sends.filter((send) => send.kind !== "cancel"));
    const addPosts = deliveries.post(pipeline, posts, changes);
    const cancels = options.stepwise ? [] : cancelsOf(items);
    const addCancels = deliveries.postCancels(pipeline, cancels, changes);
    answers.record(pipeline, items);
    callbackRows.change(pipeline, items);
    state.change(
      pipeline,
      items.flatMap((item) => (item.state === null ? [] : [{ key: item.key, state: item.state }])),
    );
    completion.write(pipeline, items, { refuseAsked: !options.stepwise });
    const running = sorted.filter(({ change }) => change.kind === "none");
    inbox.parkEvents(
      pipeline,
      running.filter(({ waitingEvents }) => waitingEvents === "park").map(({ key }) => key),
    );
    inbox.ready(
      pipeline,
      running
        .filter((item) => readiesEvents(item) && !options.inserted.has(item.key)) // a new inbox has no parked events
        .map(({ key }) => key),
    );
    inbox.put(
      pipeline,
      items
        .filter(({ release, stepsOpen, change }) => release && stepsOpen && change.kind !== "ended")
        .map(({ key, execution }) => wakeMessage(key, execution)),
    );
    return () => {
      const ids = new Map(options.inserted);
      for (const row of fenced?.rows ?? []) ids.set(integer(row, "key"), text(row, "id"));
      for (const item of items) {
        const id = ids.get(item.key);
        if (id !== undefined && isChanged(item)) changes.changed(id);
        for (const { lease, name } of item.tasks) if (lease === null) changes.queued(name);
      }
      for (const row of cancelled?.rows ?? []) {
        const id = ids.get(integer(row, "instance"));
        if (id !== undefined) changes.withdrawn(id);
      }
      addStarts();
      addPosts();
      addCancels();
    };
  }

  /**
   * Reads the due messages after everything is written. Call the returned function after the pipeline has
   * run: it returns the results in the order of the items.
   */
  due(pipeline: Pipeline, items: readonly TurnItem[], changes: ChangeDraft): () => CommittedTurn[] {
    const { inbox } = this.#parts;
    const live = items.filter(({ change }) => change.kind !== "ended");
    const released = live.filter((item) => item.release && !isQuiet(item));
    const releasedDue = inbox.hasDue(
      pipeline,
      released.map(({ key }) => key),
    );
    const due = inbox.due(
      pipeline,
      live
        .filter(({ release }) => !release)
        .map(({ key, messagesMax }) => ({ key, messages_max: messagesMax })),
    );
    return () => {
      addDue(releasedDue, changes);
      const messages = messagesOf(due);
      return items.map(({ key }) => ({ kind: "committed", due: messages.get(key) ?? [] }));
    };
  }

  /** The turns that would be refused, and why. The locks keep the others valid until the transaction ends. */
  async check(
    statements: Statements,
    items: readonly TurnItem[],
  ): Promise<Map<TurnItem, Extract<TurnResult, { readonly kind: "refused" }>>> {
    if (items.length === 0) return new Map();
    const sorted = items.toSorted((a, b) => a.key - b.key);
    const fences = sorted.map((item) => ({
      ...item,
      last_event: item.lastEvent,
      is_unleased: endsUnleased(item),
    }));
    const rows = await statements.run(this.#check, FENCES.values(fences));
    const reached = await this.#withMessages(statements, items);
    const paused = new Map(
      rows.map((row) => [sorted[integer(row, "n") - 1], flag(row, "paused")] as const),
    );
    const finished = items.flatMap((item) => item.finished);
    const held = await this.#parts.taskRenewal.lockHeld(statements, finished);
    const short = await this.#parts.streams.short(statements, [...held]);
    const claims = items.flatMap(sessionClaimsOf);
    const heldSessions = await this.#parts.sessions.lockHeld(statements, claims);
    const holdsAll = (item: TurnItem): boolean =>
      item.finished.every((claim) => held.has(claim) && !short.has(claim)) &&
      sessionClaimsOf(item).every((claim) => heldSessions.has(claimKey(claim)));
    const refused = new Map<TurnItem, Extract<TurnResult, { readonly kind: "refused" }>>();
    for (const item of items) {
      // Only a pause refuses a turn and leaves its lease (semantics 19a).
      if (paused.get(item) === true) refused.set(item, PAUSED);
      else if (!paused.has(item) || !holdsAll(item) || reached.has(item.key)) {
        refused.set(item, LEASE_LOST);
      }
    }
    return refused;
  }

  /** The keys of instances that must have an empty inbox and have a message (postgres.turn.1). */
  async #withMessages(
    statements: Statements,
    items: readonly TurnItem[],
  ): Promise<ReadonlySet<number>> {
    const keys = items.filter(endsUnleased).map(({ key }) => key);
    if (keys.length === 0) return new Set();
    const rows = await statements.run(this.#selectReached, [plain(keys)]);
    return new Set(rows.map((row) => integer(row, "key")));
  }
}

function readiesEvents({ waitingEvents, consumed }: TurnItem): boolean {
  return waitingEvents === undefined ? consumed.length > 0 : waitingEvents === "ready";
}

export interface TurnParts {
  readonly inbox: Inbox;
  readonly tasks: Tasks;
  readonly sessions: Sessions;
  readonly taskRenewal: TaskRenewal;
  readonly streams: Streams;
  readonly history: History;
  readonly starts: Starts;
  readonly deliveries: Deliveries;
  readonly state: State;
  readonly answers: Answers;
  readonly callbackRows: CallbackRows;
  readonly completion: TurnCompletion;
}

export function cancelsOf(items: readonly TurnItem[]): OutgoingMessage[] {
  return items.flatMap(({ sends }) => sends.filter((send) => send.kind === "cancel"));
}

/** The claims on the sessions in which the turn leases tasks (sessions.5). */
function sessionClaimsOf({ tasks }: TurnItem): SessionClaim[] {
  return tasks.flatMap(({ lease }) => lease?.sessionClaim ?? []);
}

/** postgres.turn.1. A turn without a lease that does not end its instance is refused: no lease has its token. */
function endsUnleased({ isUnleased, change }: TurnItem): boolean {
  return isUnleased === true && change.kind === "ended";
}

/** Whether the turn is the first turn of a job and puts nothing into its inbox. Its start has announced early messages. */
function isQuiet({ token, lastEvent, stepsOpen, dispatched, timers, starts, sends }: TurnItem) {
  const puts = timers.length + starts.length + sends.length > 0 || dispatched !== undefined;
  return token === 0 && lastEvent === 0 && !stepsOpen && !puts;
}

/** Without the tasks that the same turn cancels (commit.4). */
function newTasksOf({ key, execution, tasks, cancelledTasks }: TurnItem) {
  const cancelled = new Set(cancelledTasks);
  return tasks.flatMap((task) =>
    cancelled.has(task.sequence) ? [] : [{ ...task, key, execution }],
  );
}

/** Whether clients must be notified of the turn. */
function isChanged({ change, state, answers }: TurnItem): boolean {
  return change.kind !== "none" || state !== null || answers !== undefined;
}

function toColumns(item: TurnItem) {
  const { key, execution, token, lastEvent: last_event, cancelledTasks } = item;
  const is_reported = isChanged(item) || cancelledTasks.length > 0;
  const is_unleased = endsUnleased(item);
  return { key, execution, token, last_event, is_unleased, ...turnColumns(item), is_reported };
}
