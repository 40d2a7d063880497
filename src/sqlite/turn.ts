// Turn: one advance of one instance, all of it or nothing (I1).
//   T1. The fence is the first statement's condition: key, execution, token, last event, not paused (I2). A
//       token is taken away by whoever ends or blocks an instance, so a terminal one has none to match.
//   T2. A plain turn costs one narrow UPDATE, one DELETE and one INSERT of a task, one INSERT of history and
//       one look at the inbox.
//   T3. A finished task that is gone refuses the whole turn. The first pass finds that out after it has
//       written and throws `TaskGone`; the group is then run again, checking before it writes.

import type { StatementSync } from "node:sqlite";
import { checksumOf } from "../core/checksum.ts";
import { ANY_QUARANTINE } from "../core/provider/blame.ts";
import type { TurnItem, TurnResult } from "../core/provider/commit.ts";
import { LEASE_LOST, PAUSED } from "../core/provider/results.ts";
import { changed, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import type { Inbox } from "./inbox.ts";
import { NEXT_EXECUTION } from "./instances.ts";
import { startMessage } from "./messages.ts";
import type { Transaction } from "./news.ts";
import type { Requests } from "./requests.ts";
import type { Sends } from "./send.ts";
import type { Starts } from "./start.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";

/** Thrown to roll a group back; never leaves this folder. */
export class TaskGone extends Error {}

/** `careful`: check before writing, see T3. */
export type GroupTransaction = Transaction & { readonly careful: boolean };

const HELD = "key = ?1 AND execution = ?2 AND lease_token = ?3 AND last_event = ?4";
const FENCE = `${HELD} AND paused IS NULL`;

export class Turns {
  readonly #inbox: Inbox;
  readonly #tasks: Tasks;
  readonly #history: History;
  readonly #requests: Requests;
  readonly #starts: Starts;
  readonly #sends: Sends;
  readonly #state: State;
  readonly #advance: StatementSync;
  readonly #letGo: StatementSync;
  readonly #change: StatementSync;
  readonly #end: StatementSync;
  readonly #continue: StatementSync;
  readonly #selectId: StatementSync;
  readonly #selectPaused: StatementSync;

  constructor(
    connection: Connection,
    parts: {
      readonly inbox: Inbox;
      readonly tasks: Tasks;
      readonly history: History;
      readonly requests: Requests;
      readonly starts: Starts;
      readonly sends: Sends;
      readonly state: State;
    },
  ) {
    this.#inbox = parts.inbox;
    this.#tasks = parts.tasks;
    this.#history = parts.history;
    this.#requests = parts.requests;
    this.#starts = parts.starts;
    this.#sends = parts.sends;
    this.#state = parts.state;
    // Touches no indexed column; whatever else would have to change makes it find no row.
    const advance = "last_event = ?5, last_commit = ?6, updated_at = ?7";
    const added = "?5 > ?4"; // events (N4)
    // A quarantine lasts as long as the count: other code that tries the instance may end its process next (N5).
    const unquarantined = `instr(coalesce(blocked_by, ''), '${ANY_QUARANTINE}') = 0`;
    const plain = `${FENCE} AND steps_open = ?8 AND blocked IS NULL AND status = 'running'`;
    this.#advance = connection.prepare(`
      UPDATE instances SET ${advance}, suspicion = iif(${added}, 0, suspicion) WHERE ${plain}`);
    this.#letGo = connection.prepare(`
      UPDATE instances SET ${advance}, suspicion = iif(${added}, 0, max(suspicion - 1, 0)),
        lease_owner = NULL, lease_token = NULL, lease_until = NULL
      WHERE ${plain}`);
    this.#change = connection.prepare(`
      UPDATE instances SET
        ${advance}, suspicion = iif(?13, 0, max(suspicion - ?11, 0)),
        steps_open = ?8, status = 'running', version = coalesce(?9, version),
        replay_version = iif(?9 IS NULL, replay_version, ?12),
        cancel_requested = coalesce(?10, cancel_requested),
        blocked = iif(?13 OR ${unquarantined}, NULL, blocked),
        blocked_by = iif(?13 OR ${unquarantined}, NULL, blocked_by),
        lease_owner = iif(?11, NULL, lease_owner), lease_token = iif(?11, NULL, lease_token),
        lease_until = iif(?11, NULL, lease_until)
      WHERE ${FENCE}`);
    this.#end = connection.prepare(`
      UPDATE instances SET
        ${advance}, suspicion = 0, completed_at = ?7, steps_open = 0, status = ?8, output = ?9, error = ?10,
        ending_checksum = ?14,
        version = coalesce(?11, version),
        replay_version = iif(?11 IS NULL, replay_version, ?13),
        cancel_requested = coalesce(?12, cancel_requested), blocked = NULL, blocked_by = NULL,
        lease_owner = NULL, lease_token = NULL, lease_until = NULL
      WHERE ${FENCE}`);
    this.#continue = connection.prepare(`
      UPDATE instances SET ${NEXT_EXECUTION}, version = ?, steps_open = 0 WHERE key = ?`);
    this.#selectId = connection.prepare("SELECT id FROM instances WHERE key = ?");
    this.#selectPaused = connection.prepare(
      `SELECT 1 FROM instances WHERE ${HELD} AND paused IS NOT NULL`,
    );
  }

  commit(item: TurnItem, transaction: GroupTransaction): TurnResult {
    const { key, change, finished } = item;
    if (transaction.careful && !finished.every((claim) => this.#tasks.holds(claim))) {
      return this.#refusal(item);
    }
    if (!this.#fence(item, transaction.now)) return this.#refusal(item);
    for (const claim of finished) {
      if (!this.#tasks.finish(claim) && !transaction.careful) throw new TaskGone();
    }
    this.#write(item, transaction);
    if (change.kind === "ended") return this.#ended(key, transaction);
    if (change.kind === "continued") this.#continued(item, change, transaction);
    else this.#moveEvents(item);
    if (item.release) return this.#released(item, transaction);
    return { kind: "committed", due: this.#inbox.due(key, transaction.now, item.messagesMax) };
  }

  #moveEvents({ key, waitingEvents, consumed }: TurnItem): void {
    if (waitingEvents === "park") this.#inbox.parkEvents(key);
    else if (waitingEvents === "ready" || consumed.length > 0) this.#inbox.ready(key);
  }

  #fence(item: TurnItem, now: number): boolean {
    const { key, execution, token, lastEvent, commitId, change } = item;
    const last = item.row?.last ?? lastEvent;
    const steps = item.stepsOpen ? 1 : 0;
    const { version, cancelRequested } = item;
    if (change.kind === "ended") {
      const { status, output, error } = change;
      const checksum = output === null && error === null ? null : checksumOf(output, error);
      return changed(
        this.#end.run(
          ...[key, execution, token, lastEvent, last, commitId, now, status, output, error],
          ...[version, cancelRequested, item.replayVersion, checksum],
        ),
      );
    }
    if (version === null && cancelRequested === null && item.keepsSuspicion !== true) {
      const plain = item.release ? this.#letGo : this.#advance;
      if (changed(plain.run(key, execution, token, lastEvent, last, commitId, now, steps))) {
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

  /** A pause leaves the lease to its holder (semantics 19a); nothing else does. */
  #refusal({ key, execution, token, lastEvent }: TurnItem): TurnResult {
    const paused = this.#selectPaused.get(key, execution, token, lastEvent);
    return paused === undefined ? LEASE_LOST : PAUSED;
  }

  /** Everything that has a row of its own. */
  #write(item: TurnItem, transaction: GroupTransaction): void {
    const { key, execution } = item;
    const { now } = transaction;
    if (item.version !== null) this.#inbox.retarget(key);
    if (item.row !== null) this.#history.append(key, execution, item.row);
    for (const id of item.consumed) this.#inbox.consume(key, id);
    for (const task of item.tasks) this.#tasks.insert(key, execution, task, transaction);
    for (const sequence of item.cancelledTasks) {
      this.#tasks.cancel(key, execution, sequence, transaction);
    }
    for (const timer of item.timers) this.#inbox.insertTimer(key, execution, timer, now);
    for (const timer of item.cancelledTimers) this.#inbox.withdrawTimer(key, timer);
    for (const instance of item.starts) this.#starts.startFromTurn(instance, key, transaction);
    for (const message of item.sends) this.#sends.post(message, transaction);
    if (item.state !== null) {
      this.#state.change(key, item.state, now);
      transaction.news.changed(this.#idOf(key));
    }
  }

  #ended(key: number, transaction: Transaction): TurnResult {
    this.#tasks.clear(key, transaction);
    this.#inbox.park(key);
    transaction.news.changed(this.#idOf(key));
    return { kind: "committed", due: [] };
  }

  #continued(
    { key, execution }: TurnItem,
    { started, version, unread }: Extract<TurnItem["change"], { readonly kind: "continued" }>,
    transaction: Transaction,
  ): void {
    this.#tasks.clear(key, transaction);
    this.#continue.run(version, key);
    const start = startMessage(execution + 1, started, transaction.now);
    this.#inbox.carryOver(key, start, unread);
    this.#requests.forget(key, transaction.now);
    transaction.news.changed(this.#idOf(key));
  }

  /** What came while the turn ran has told only the owner, who has just let go. */
  #released({ key, execution, stepsOpen }: TurnItem, { now, news }: Transaction): TurnResult {
    if (stepsOpen) this.#inbox.insertWake(key, execution, now);
    if (this.#inbox.hasDue(key, now)) news.due(this.#idOf(key));
    return { kind: "committed", due: [] };
  }

  #idOf(key: number): string {
    return text(this.#selectId.get(key) ?? {}, "id");
  }
}
