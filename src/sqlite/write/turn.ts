// Turn: advances one instance; the turn is written completely or not at all (I1).
//   - The fence is the condition of the first statement: key, execution, token, last event, not paused
//     (I2). Ending or blocking an instance removes its token, so the token of a turn cannot match an ended
//     instance.
//   - A plain turn costs one narrow UPDATE, one DELETE and one INSERT of a task, one INSERT of history and
//     one read of the inbox.
//   - turn.1: If a finished task no longer exists, or a session that a new task is leased in is not held
//     (sessions.5), the whole turn is refused. The first pass notices that after it has written and throws
//     `ClaimGone`; the group is then rolled back and run again, and checks before it writes.
//   - sqlite.turn.1: A turn that ends a job without a lease (commit.7) has another fence: the instance must have no
//     lease and an empty inbox. So nothing of the inbox is left to delete.
//   - turn.2: The events of plain turns are counted here, and added to the tallies once per group. A trigger
//     for every turn would cost as much as writing its events.

import { checksumOf } from "../../core/values/checksum.ts";
import { ANY_QUARANTINE } from "../../core/provider/shared/blame.ts";
import type { TurnItem, TurnResult } from "../../core/provider/commit.ts";
import { LEASE_LOST, PAUSED } from "../../core/provider/results.ts";
import { flag, text } from "../../sql/columns.ts";
import { releaseAskers } from "../../sql/write/asks.ts";
import { changeCallbacks } from "../../sql/write/callbacks.ts";
import { releaseWaiting } from "../../sql/write/enqueue-keys.ts";
import type { StoreParts } from "../../sql/parts.ts";
import type { Script } from "../../sql/script/script.ts";
import { changed } from "../sql/changed.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { History } from "../read/history.ts";
import type { Inbox } from "../read/inbox.ts";
import { NEXT_EXECUTION } from "../read/instances.ts";
import { dueTime, startMessage } from "../read/messages.ts";
import type { Transaction } from "../notify/change-draft.ts";
import type { Dispatches } from "./dispatches.ts";
import type { Requests } from "./requests.ts";
import type { Sends } from "./send.ts";
import type { BegunStart, Starts } from "./start.ts";
import type { State } from "./state.ts";
import type { Streams } from "./streams.ts";
import type { SessionActivity, Sessions } from "../lease/sessions.ts";
import type { Tasks } from "../lease/tasks.ts";

interface TurnParts {
  readonly inbox: Inbox;
  readonly tasks: Tasks;
  readonly sessions: Sessions;
  readonly history: History;
  readonly requests: Requests;
  readonly starts: Starts;
  readonly sends: Sends;
  readonly state: State;
  readonly dispatches: Dispatches;
  readonly streams: Streams;
  /** Posts messages to the askers of an instance that ends. */
  readonly parts: StoreParts<Transaction>;
}

/** Rolls a group back; caught in commit.ts. */
export class ClaimGone extends Error {}

export interface GroupTransaction extends Transaction, SessionActivity {
  /** Check before writing, see turn.1. */
  readonly careful: boolean;
  /** The events that plain turns have added (turn.2). */
  plainEvents: number;
}

const HELD = "key = ?1 AND execution = ?2 AND lease_token = ?3 AND last_event = ?4";
const FENCE = `${HELD} AND paused IS NULL`;

// Touches no indexed column. If any other column would have to change, it matches no row and `#change`
// runs.
const ADVANCE = "last_event = ?5, last_commit = ?6, updated_at = ?7";
const ADDED = "?5 > ?4"; // the turn adds events (provider.instances.4)
// A quarantine lasts as long as the suspicion count: under other code the instance may crash its process
// again (provider.instances.5).
const UNQUARANTINED = `instr(coalesce(blocked_by, ''), '${ANY_QUARANTINE}') = 0`;
const PLAIN = `${FENCE} AND steps_open = ?8 AND blocked IS NULL AND status = 'running'`;
const END = `
  ${ADVANCE}, suspicion = 0, completed_at = ?7, steps_open = 0, status = ?8, output = ?9, error = ?10,
  ending_checksum = ?14, delete_after = ?15`;
// sqlite.turn.1
const UNLEASED = `
  key = ?1 AND execution = ?2 AND last_event = ?4 AND lease_token IS NULL AND status = 'running'
  AND paused IS NULL AND blocked IS NULL AND NOT EXISTS (SELECT 1 FROM inbox WHERE instance = ?1)`;

export class Turns extends Subject {
  readonly #parts: TurnParts;
  readonly #advance = this.prepare(`
    UPDATE instances SET ${ADVANCE}, suspicion = iif(${ADDED}, 0, suspicion) WHERE ${PLAIN}`);
  readonly #advanceAndRelease = this.prepare(`
    UPDATE instances SET ${ADVANCE}, suspicion = iif(${ADDED}, 0, max(suspicion - 1, 0)),
      lease_owner = NULL, lease_token = NULL, lease_until = NULL
    WHERE ${PLAIN}`);
  readonly #change = this.prepare(`
    UPDATE instances SET
      ${ADVANCE}, suspicion = iif(?13, 0, max(suspicion - ?11, 0)),
      steps_open = ?8, status = 'running', version = coalesce(?9, version),
      replay_version = iif(?9 IS NULL, replay_version, ?12),
      cancel_requested = coalesce(?10, cancel_requested),
      blocked = iif(?13 OR ${UNQUARANTINED}, NULL, blocked),
      blocked_by = iif(?13 OR ${UNQUARANTINED}, NULL, blocked_by),
      lease_owner = iif(?11, NULL, lease_owner), lease_token = iif(?11, NULL, lease_token),
      lease_until = iif(?11, NULL, lease_until)
    WHERE ${FENCE}`);
  readonly #end = this.prepare(`
    UPDATE instances SET ${END},
      version = coalesce(?11, version),
      replay_version = iif(?11 IS NULL, replay_version, ?13),
      cancel_requested = coalesce(?12, cancel_requested), blocked = NULL, blocked_by = NULL,
      lease_owner = NULL, lease_token = NULL, lease_until = NULL
    WHERE ${FENCE}`);
  readonly #endUnleased = this.prepare(`
    UPDATE instances SET ${END} WHERE ${UNLEASED}`);
  readonly #continue = this.prepare(`
    UPDATE instances SET ${NEXT_EXECUTION}, version = ?, steps_open = 0 WHERE key = ?`);
  readonly #selectId = this.prepare("SELECT id FROM instances WHERE key = ?");
  // What the end of an instance leaves to do: most often nothing. Without INDEXED BY, SQLite reads all requests of the
  // instance through the primary key.
  readonly #selectEnded = this.prepare(`
    SELECT id, EXISTS (SELECT 1 FROM tasks WHERE instance = ?1) AS has_tasks,
      EXISTS (SELECT 1 FROM inbox WHERE instance = ?1) AS has_messages, EXISTS (
      SELECT 1 FROM requests INDEXED BY requests_askers
      WHERE instance = ?1 AND asker IS NOT NULL) AS asked, EXISTS (
      SELECT 1 FROM enqueue_keys INDEXED BY enqueue_keys_waiting
      WHERE instance = ?1 AND kind = 'unique' AND next IS NOT NULL) AS awaited
    FROM instances WHERE key = ?1`);
  readonly #selectPaused = this.prepare(`
    SELECT 1 FROM instances WHERE ${HELD} AND paused IS NOT NULL`);
  readonly #countEvents = this.prepare(`
    UPDATE tallies SET events = events + ? WHERE status = 'running' AND name = ''`);

  constructor(connection: Connection, parts: TurnParts) {
    super(connection);
    this.#parts = parts;
  }

  commit(item: TurnItem, transaction: GroupTransaction): TurnResult {
    const { key, change, finished } = item;
    if (transaction.careful && !this.claimsHold(item, transaction)) return this.#refusal(item);
    if (!this.#fence(item, transaction)) return this.#refusal(item);
    if (item.version !== null) this.#parts.inbox.retarget(key);
    for (const claim of finished) {
      const holds = this.#parts.tasks.finish(claim, transaction);
      if (!holds && !transaction.careful) throw new ClaimGone();
    }
    this.#write(item, transaction);
    if (change.kind === "ended") this.#ended(item, transaction);
    else if (change.kind === "continued") this.#continued(item, change, transaction);
    else this.#moveEvents(item);
    return this.#finished(item, change.kind !== "ended", transaction);
  }

  /**
   * The first turn of an instance that the same transaction has inserted (commit.5). If the insert has written
   * the values of the turn, only the rest is left to write.
   */
  commitFirst(item: TurnItem, start: BegunStart, transaction: GroupTransaction): TurnResult {
    if (!start.hasTurnColumns) return this.commit(item, transaction);
    this.#write(item, transaction);
    if (start.hasMessages) this.#moveEvents(item);
    const mayBeDue =
      start.hasMessages ||
      item.dispatched !== undefined ||
      item.timers.length + item.sends.length + item.starts.length > 0;
    return this.#finished(item, mayBeDue || item.stepsOpen, transaction);
  }

  /** Writes the dispatched items and returns the result of the turn. */
  #finished(item: TurnItem, mayBeDue: boolean, transaction: GroupTransaction): TurnResult {
    const { key, execution, dispatched, release, stepsOpen, change } = item;
    const needsWake = release && stepsOpen && change.kind !== "ended";
    if (needsWake) this.#parts.inbox.insertWake(key, execution, transaction.now);
    if (dispatched === undefined) return this.#result(item, mayBeDue, transaction);
    const { undelivered, isCurrent } = this.#parts.dispatches.write(item, dispatched, transaction);
    const result = this.#result(item, mayBeDue && isCurrent, transaction);
    return undelivered.length === 0 ? result : { ...result, undelivered };
  }

  #result(item: TurnItem, mayBeDue: boolean, transaction: Transaction) {
    if (mayBeDue && item.release) this.#released(item.key, transaction);
    const { key, messagesMax, release } = item;
    const isRead = mayBeDue && !release;
    const due = isRead ? this.#parts.inbox.due(key, transaction.now, messagesMax) : [];
    return { kind: "committed", due } as const;
  }

  /** Whether the tasks that the turn finishes and the sessions that it leases tasks in are held (turn.1). */
  claimsHold({ finished, tasks }: TurnItem, { now }: Transaction): boolean {
    const { tasks: leased, sessions } = this.#parts;
    return (
      finished.every((claim) => leased.holds(claim)) &&
      tasks.every(({ lease }) => {
        const claim = lease?.sessionClaim;
        return claim === undefined || sessions.holds(claim, now);
      })
    );
  }

  #moveEvents({ key, waitingEvents, consumed }: TurnItem): void {
    if (waitingEvents === "park") this.#parts.inbox.parkEvents(key);
    else if (waitingEvents === "ready" || consumed.length > 0) this.#parts.inbox.ready(key);
  }

  /** Must be called at the end of a group (turn.2). */
  countEvents({ plainEvents }: GroupTransaction): void {
    if (plainEvents > 0) this.#countEvents.run(plainEvents);
  }

  #fence(item: TurnItem, transaction: GroupTransaction): boolean {
    const { now } = transaction;
    const { key, execution, token, lastEvent, commitId, change } = item;
    const last = item.row?.last ?? lastEvent;
    const steps = item.stepsOpen ? 1 : 0;
    const { version, cancelRequested } = item;
    if (change.kind === "ended") {
      const { status, output, error, keepMs } = change;
      const checksum = output === null && error === null ? null : checksumOf(output, error);
      const deleteAfter = keepMs === undefined ? null : dueTime({ delayMs: keepMs }, now);
      const end = item.isUnleased === true ? this.#endUnleased : this.#end;
      return changed(
        end.run(
          ...[key, execution, token, lastEvent, last, commitId, now, status, output, error],
          ...[version, cancelRequested, item.replayVersion, checksum, deleteAfter],
        ),
      );
    }
    if (item.isUnleased === true) return false; // such a turn ends its instance
    if (version === null && cancelRequested === null && item.keepsSuspicion !== true) {
      const plain = item.release ? this.#advanceAndRelease : this.#advance;
      if (changed(plain.run(key, execution, token, lastEvent, last, commitId, now, steps))) {
        transaction.plainEvents += last - lastEvent;
        return true;
      }
    }
    const release = item.release ? 1 : 0;
    const clears = item.row !== null && item.keepsSuspicion !== true ? 1 : 0;
    return changed(
      this.#change.run(
        ...[key, execution, token, lastEvent, last, commitId, now, steps],
        ...[version, cancelRequested, release, item.replayVersion, clears],
      ),
    );
  }

  /** Only a pause refuses a turn and leaves its lease (semantics 19a). */
  #refusal({ key, execution, token, lastEvent, isUnleased }: TurnItem): TurnResult {
    if (isUnleased === true) return LEASE_LOST;
    const paused = this.#selectPaused.get(key, execution, token, lastEvent);
    return paused === undefined ? LEASE_LOST : PAUSED;
  }

  /** Writes everything except the row of the instance. */
  #write(item: TurnItem, transaction: GroupTransaction): void {
    const { key, execution } = item;
    const { now } = transaction;
    if (item.row !== null) this.#parts.history.append(key, execution, item.row);
    for (const id of item.consumed) this.#parts.inbox.consume(key, id);
    for (const task of item.tasks) {
      if (!this.#parts.tasks.insert(key, execution, task, transaction)) throw new ClaimGone();
    }
    for (const sequence of item.cancelledTasks) {
      this.#parts.tasks.cancel(key, execution, sequence, transaction);
    }
    for (const timer of item.timers) this.#parts.inbox.insertTimer(key, execution, timer, now);
    for (const timer of item.cancelledTimers) this.#parts.inbox.withdrawTimer(key, timer);
    for (const instance of item.starts)
      this.#parts.starts.startFromTurn(instance, key, transaction);
    for (const message of item.sends) this.#parts.sends.post(message, transaction);
    if (item.answers !== undefined) {
      for (const answer of item.answers) this.#parts.requests.answer(key, answer, now);
      transaction.changes.changed(this.#idOf(key));
    }
    if (item.streams !== undefined) this.#parts.streams.write(item, item.streams, transaction);
    if (item.callbacks !== undefined) {
      this.connection.run(changeCallbacks(key, execution, item.callbacks), now);
    }
    if (item.state !== null) {
      this.#parts.state.change(key, item.state, now);
      transaction.changes.changed(this.#idOf(key));
    }
  }

  #ended({ key }: TurnItem, transaction: Transaction): void {
    const row = this.#selectEnded.get(key) ?? {};
    const id = text(row, "id");
    transaction.changes.changed(id);
    if (flag(row, "has_tasks")) this.#parts.tasks.clear(key, transaction);
    if (flag(row, "has_messages")) this.#parts.inbox.park(key);
    const { parts } = this.#parts;
    const run = (script: Script<void>) => this.connection.run(script, transaction.now);
    if (flag(row, "asked")) run(releaseAskers([{ key, id }], transaction, parts));
    if (flag(row, "awaited")) run(releaseWaiting([key], transaction, parts));
  }

  #continued(
    { key, execution }: TurnItem,
    { started, version, unread }: Extract<TurnItem["change"], { readonly kind: "continued" }>,
    transaction: Transaction,
  ): void {
    this.#parts.tasks.clear(key, transaction);
    this.#continue.run(version, key);
    const start = startMessage(execution + 1, started, transaction.now);
    this.#parts.inbox.carryOver(key, start, unread);
    this.#parts.requests.forget(key, transaction.now);
    transaction.changes.changed(this.#idOf(key));
  }

  /**
   * Messages that arrived during the turn were reported to the old owner only, so report the instance as due.
   */
  #released(key: number, { now, changes }: Transaction): void {
    if (this.#parts.inbox.hasDue(key, now)) changes.due(this.#idOf(key));
  }

  #idOf(key: number): string {
    return text(this.#selectId.get(key) ?? {}, "id");
  }
}
