// Inbox: the messages of instances.
//   - `due` returns the visible messages: the start, a pending cancel, then by (visible at, id)
//       (messages.2).
//   - A message with a key that the inbox already holds is not stored again (messages.3). Keys are separate
//       per kind: the engine derives its keys, a sender may choose any.
//   - sqlite.inbox.1: Only ready messages make an instance due; parked messages do not. Of the events that
//       wait for a live instance, only the oldest is ready, or none if the start is; the others are parked
//       behind it and delivered with it. A turn whose code accepts no event now parks the oldest one too.
//       So the search for due instances and continueAsNew do not slow down when many events wait. All
//       events of an ended instance are parked and can still be read.
//   - sqlite.inbox.2: The order of events is the order of their ids. Events that are put back get negative
//       ids, in descending order, so they precede all waiting events, which need not be rewritten.

import { checksumOfCopy, type MaybeDamaged } from "../../core/values/checksum.ts";
import type {
  KeptMessage,
  Message,
  NewTimer,
  TimerReference,
} from "../../core/provider/messages.ts";
import { integer } from "../../sql/columns.ts";
import { changed } from "../sql/changed.ts";
import { Subject } from "../connection/subject.ts";
import { coveredOf, dueTime, toMessage, type NewMessage } from "./messages.ts";
import { MESSAGE_COLUMNS } from "../../sql/rows/messages.ts";

/** SQL for the target that a runtime must register to lease the instance (`targets` in the contract). */
export const TARGET = `iif(version IS NULL, instances.name, instances.name || '@' || version
  || iif(replay_version > 1, '#' || replay_version, ''))`;

export class Inbox extends Subject {
  readonly #insert = this.prepare(`
    INSERT INTO inbox (
      instance, priority, target, parked,
      visible_at, execution, sequence, kind, name, key, data, checksum
    )
    SELECT ?1, priority, ${TARGET},
      ?5 = 'event' AND EXISTS (SELECT 1 FROM inbox WHERE instance = ?1 AND kind = 'event'),
      ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
    FROM instances WHERE key = ?1
    ON CONFLICT (instance, kind, key) WHERE key IS NOT NULL DO NOTHING`);
  // "+?": SQLite prepares a statement again whenever a bare LIMIT parameter is bound, which takes 6 µs.
  readonly #selectDue = this.prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM inbox AS m
    WHERE instance = ? AND parked = 0 AND visible_at <= ? AND kind <> 'cancel'
    ORDER BY visible_at, id LIMIT +?`);
  // "+visible_at" makes SQLite use the index of events, which is in id order.
  readonly #selectParked = this.prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM inbox AS m
    WHERE instance = ? AND kind = 'event' AND parked = 1 AND +visible_at <= ?
    ORDER BY id LIMIT +?`);
  readonly #selectCancel = this.prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM inbox AS m
    WHERE instance = ? AND visible_at <= ? AND kind = 'cancel' AND key = 'cancel'`);
  readonly #hasDue = this.prepare(`
    SELECT 1 FROM inbox WHERE instance = ? AND parked = 0 AND visible_at <= ? LIMIT 1`);
  readonly #selectCopied = this.prepare("SELECT copied_until FROM instances WHERE key = ?");
  readonly #selectStart = this.prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM inbox AS m WHERE instance = ? AND parked = 0 AND kind = 'start'`);
  readonly #selectLastEvent = this.prepare(`
    SELECT visible_at FROM inbox WHERE instance = ? AND kind = 'event'
    ORDER BY id DESC LIMIT 1`);
  readonly #selectFirstEvent = this.prepare(`
    SELECT visible_at FROM inbox WHERE instance = ? AND kind = 'event' ORDER BY id LIMIT 1`);
  readonly #selectByKey = this.prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM inbox AS m WHERE instance = ? AND kind = ? AND key = ?`);
  readonly #delete = this.prepare("DELETE FROM inbox WHERE id = ? AND instance = ?");
  readonly #deleteTimer = this.prepare(`
    DELETE FROM inbox
    WHERE instance = ? AND sequence = ? AND kind = ? AND key IS NULL AND sequence IS NOT NULL`);
  readonly #deleteAll = this.prepare("DELETE FROM inbox WHERE instance = ?");
  readonly #deleteAllButEvents = this.prepare(`
    DELETE FROM inbox WHERE instance = ? AND kind <> 'event'`);
  readonly #retarget = this.prepare(`
    UPDATE inbox SET target = (SELECT ${TARGET} FROM instances WHERE key = ?1)
    WHERE instance = ?1 AND parked = 0`);
  readonly #park = this.prepare(`
    UPDATE inbox SET parked = 1 WHERE instance = ? AND parked = 0 AND +kind = 'event'`);
  readonly #ready = this.prepare(`
    UPDATE inbox SET parked = 0, target = (SELECT ${TARGET} FROM instances WHERE key = ?1)
    WHERE parked = 1 AND id = (
      SELECT id FROM inbox WHERE instance = ?1 AND kind = 'event' ORDER BY id LIMIT 1)`);
  readonly #deleteAllButLasting = this.prepare(`
    DELETE FROM inbox WHERE instance = ? AND parked = 0 AND kind NOT IN ('event', 'cancel')`);
  readonly #moveToFront = this.prepare("UPDATE inbox SET id = -id WHERE id = ?");

  /** The last event that the newest execution of the instance has copied. */
  copiedUntil(instance: number): number {
    return integer(this.#selectCopied.get(instance) ?? {}, "copied_until");
  }

  /** The id of the new message; null if the inbox already holds its key. */
  insert(instance: number, message: NewMessage): number | null {
    const result = this.#insert.run(
      instance,
      message.visibleAt,
      message.execution,
      message.sequence,
      message.kind,
      message.name,
      message.key,
      message.data,
      checksumOfCopy(message, ...coveredOf(instance, message)),
    );
    return changed(result) ? Number(result.lastInsertRowid) : null;
  }

  insertStart(instance: number, start: NewMessage): Message {
    const id = this.insert(instance, start);
    if (id === null) throw new Error("A start message has no key, so its insert cannot conflict.");
    return { ...start, id };
  }

  insertTimer(instance: number, execution: number, timer: NewTimer, now: number): void {
    const { kind, sequence, data = "" } = timer;
    const visibleAt = dueTime(timer, now);
    this.insert(instance, { kind, sequence, execution, visibleAt, data, name: null, key: null });
  }

  /** Inserts events in order. An event whose key the inbox already holds is skipped. */
  insertEvents(
    instance: number,
    events: readonly (KeptMessage & MaybeDamaged)[],
    visibleAt: number,
  ): void {
    for (const event of events) this.insert(instance, { ...event, ...EVENT, visibleAt });
  }

  /** Makes an instance due that has open steps and no runtime to run them; it has no other message. */
  insertWake(instance: number, execution: number, now: number): void {
    this.insert(instance, { ...WAKE, execution, visibleAt: now });
  }

  due(instance: number, now: number, messagesMax: number): Message[] {
    const due = this.#selectDue.all(instance, now, messagesMax).map(toMessage);
    const cancel = this.#selectCancel.get(instance, now);
    if (cancel !== undefined) due.push(toMessage(cancel));
    if (due.some(({ kind }) => kind === "start" || kind === "event")) {
      due.push(...this.#selectParked.all(instance, now, messagesMax).map(toMessage));
    }
    return due.length < 2 ? due : due.sort(byInboxOrder).slice(0, messagesMax);
  }

  take(
    keys: readonly number[],
    messagesMax: number,
  ): Promise<ReadonlyMap<number, readonly Message[]>> {
    return this.connection.readAhead(() => {
      const now = this.connection.now();
      return new Map(keys.map((key) => [key, this.due(key, now, messagesMax)]));
    });
  }

  hasDue(instance: number, now: number): boolean {
    return this.#hasDue.get(instance, now) !== undefined;
  }

  /** When the event that was sent last became visible; null if no event waits. */
  lastEventAt(instance: number): number | null {
    const row = this.#selectLastEvent.get(instance);
    return row === undefined ? null : integer(row, "visible_at");
  }

  /** The start message, if no turn has consumed it yet. */
  findStart(instance: number): Message | null {
    const row = this.#selectStart.get(instance);
    return row === undefined ? null : toMessage(row);
  }

  /** The message of that kind with that key, if no turn has consumed it yet. */
  find(instance: number, kind: Message["kind"], key: string): Message | null {
    const row = this.#selectByKey.get(instance, kind, key);
    return row === undefined ? null : toMessage(row);
  }

  consume(instance: number, id: number): void {
    this.#delete.run(id, instance);
  }

  /** Makes the oldest waiting event ready, so that the instance is due (sqlite.inbox.1). */
  ready(instance: number): void {
    this.#ready.run(instance);
  }

  /** Parks all events, because the code accepts none now (sqlite.inbox.1). */
  parkEvents(instance: number): void {
    this.#park.run(instance);
  }

  withdrawTimer(instance: number, timer: TimerReference): void {
    this.#deleteTimer.run(instance, timer.sequence, timer.kind);
  }

  clear(instance: number): void {
    this.#deleteAll.run(instance);
  }

  /** Updates the target of ready messages after the instance has got its version. */
  retarget(instance: number): void {
    this.#retarget.run(instance);
  }

  /** Leaves an ended instance only its unread events. */
  park(instance: number): void {
    this.#deleteAllButEvents.run(instance);
    this.#park.run(instance);
  }

  /**
   * Prepares the inbox for the next execution: its start, a pending cancel and the events. Events that no
   * turn has consumed keep their place, parked behind the start.
   */
  carryOver(instance: number, start: NewMessage, unread: readonly KeptMessage[]): void {
    const cancel = this.find(instance, "cancel", "cancel");
    this.#deleteAllButLasting.run(instance);
    this.putBack(instance, unread, start.visibleAt);
    this.insert(instance, start);
    if (cancel === null) return;
    const { execution } = start;
    const visibleAt = Math.max(cancel.visibleAt, start.visibleAt);
    this.consume(instance, cancel.id);
    this.insert(instance, { ...cancel, execution, visibleAt });
  }

  /**
   * Puts events that the last execution consumed but did not read before the waiting events
   * (sqlite.inbox.2), and parks all events.
   */
  putBack(instance: number, unread: readonly KeptMessage[], now: number): void {
    const oldest = unread.length === 0 ? undefined : this.#selectFirstEvent.get(instance);
    const visibleAt = oldest === undefined ? now : Math.min(integer(oldest, "visible_at"), now);
    for (const event of unread.toReversed()) {
      const id = this.insert(instance, { ...event, ...EVENT, visibleAt });
      if (id !== null) this.#moveToFront.run(id);
    }
    this.#park.run(instance);
  }
}

function byInboxOrder(a: Message, b: Message): number {
  return placeOf(a) - placeOf(b) || a.visibleAt - b.visibleAt || a.id - b.id;
}

/** The start first, then a cancel, then the rest (messages.2). */
function placeOf({ kind }: Message): number {
  return kind === "start" ? 0 : kind === "cancel" ? 1 : 2;
}

const WAKE = { kind: "wake", sequence: null, name: null, data: "", key: "wake" } as const;
const EVENT = { kind: "event", execution: null, sequence: null } as const;
