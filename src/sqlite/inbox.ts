// Inbox: the messages of instances.
//   I1. `due` hands out what is visible: the start, a pending cancel, then by (visible at, id) (B2).
//   I2. A key that an instance's inbox holds already is not stored again (B3). Kinds have keys of their own:
//       the engine's are made by rule, a sender's are whatever he likes.
//   I3. Only ready messages make an instance due; parked ones do not. Of the events that wait for a live instance the
//       oldest is ready, or its start is; the others are parked behind it, and handed over with it. A turn whose code
//       takes no event now parks the oldest one too. So neither the search for due instances nor continueAsNew costs
//       more when more events wait. All events of an ended instance are parked: they can be read.
//   I5. The order of events is the order of their ids. Events that are put back get negative ids, the smallest one
//       last, so that they come before all that wait, which need not be written again.

import type { StatementSync } from "node:sqlite";
import { checksumFor, type MaybeDamaged } from "../core/checksum.ts";
import type {
  EventsPage,
  EventsRequest,
  KeptMessage,
  Message,
  NewTimer,
  TimerReference,
} from "../core/provider/messages.ts";
import { changed, integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { COLUMNS, coveredOf, dueTime, toMessage, type NewMessage } from "./messages.ts";

/** Of an instance: what a runtime must register to take it (`targets` in the contract). */
export const TARGET = `iif(version IS NULL, instances.name, instances.name || '@' || version
  || iif(replay_version > 1, '#' || replay_version, ''))`;

export class Inbox {
  readonly #insert: StatementSync;
  readonly #selectDue: StatementSync;
  readonly #selectParked: StatementSync;
  readonly #selectCancel: StatementSync;
  readonly #hasDue: StatementSync;
  readonly #selectAll: StatementSync;
  readonly #selectEvents: StatementSync;
  readonly #selectStart: StatementSync;
  readonly #selectLastEvent: StatementSync;
  readonly #selectFirstEvent: StatementSync;
  readonly #selectByKey: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteTimer: StatementSync;
  readonly #deleteAll: StatementSync;
  readonly #deleteAllButEvents: StatementSync;
  readonly #retarget: StatementSync;
  readonly #park: StatementSync;
  readonly #ready: StatementSync;
  readonly #deleteAllButLasting: StatementSync;
  readonly #moveToFront: StatementSync;

  constructor(connection: Connection) {
    this.#insert = connection.prepare(`
      INSERT INTO inbox (
        instance, priority, target, parked,
        visible_at, execution, sequence, kind, name, key, data, checksum
      )
      SELECT ?1, priority, ${TARGET},
        ?5 = 'event' AND EXISTS (SELECT 1 FROM inbox WHERE instance = ?1 AND kind = 'event'),
        ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
      FROM instances WHERE key = ?1
      ON CONFLICT (instance, kind, key) WHERE key IS NOT NULL DO NOTHING`);
    // "+?": SQLite prepares a statement anew whenever a bare parameter of LIMIT is bound, at 6 µs a time.
    this.#selectDue = connection.prepare(`
      SELECT ${COLUMNS} FROM inbox
      WHERE instance = ? AND parked = 0 AND visible_at <= ? AND kind <> 'cancel'
      ORDER BY visible_at, id LIMIT +?`);
    // "+visible_at": by the index of events, which has their order, however many wait.
    this.#selectParked = connection.prepare(`
      SELECT ${COLUMNS} FROM inbox
      WHERE instance = ? AND kind = 'event' AND parked = 1 AND +visible_at <= ?
      ORDER BY id LIMIT +?`);
    this.#selectCancel = connection.prepare(`
      SELECT ${COLUMNS} FROM inbox
      WHERE instance = ? AND visible_at <= ? AND kind = 'cancel' AND key = 'cancel'`);
    this.#hasDue = connection.prepare(
      "SELECT 1 FROM inbox WHERE instance = ? AND parked = 0 AND visible_at <= ? LIMIT 1",
    );
    this.#selectAll = connection.prepare(`
      SELECT ${COLUMNS} FROM inbox WHERE instance = ?
      ORDER BY kind = 'start' DESC, kind = 'cancel' DESC, visible_at, id`);
    this.#selectEvents = connection.prepare(`
      WITH sized AS (
        SELECT id, row_number() OVER (ORDER BY id) AS n,
          sum(bytes) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
        FROM (
          SELECT id, octet_length(data) AS bytes FROM inbox
          WHERE instance = ?1 AND kind = 'event' AND id > ?2 ORDER BY id LIMIT ?3 + 1)
      )
      SELECT ${COLUMNS}, (SELECT count(*) FROM sized) AS sized FROM inbox
      WHERE id IN (SELECT id FROM sized WHERE n = 1 OR (n <= ?3 AND total <= ?4)) ORDER BY id`);
    this.#selectStart = connection.prepare(
      `SELECT ${COLUMNS} FROM inbox WHERE instance = ? AND parked = 0 AND kind = 'start'`,
    );
    this.#selectLastEvent = connection.prepare(`
      SELECT visible_at FROM inbox WHERE instance = ? AND kind = 'event'
      ORDER BY id DESC LIMIT 1`);
    this.#selectFirstEvent = connection.prepare(`
      SELECT visible_at FROM inbox WHERE instance = ? AND kind = 'event' ORDER BY id LIMIT 1`);
    this.#selectByKey = connection.prepare(
      `SELECT ${COLUMNS} FROM inbox WHERE instance = ? AND kind = ? AND key = ?`,
    );
    this.#delete = connection.prepare("DELETE FROM inbox WHERE id = ? AND instance = ?");
    this.#deleteTimer = connection.prepare(`
      DELETE FROM inbox
      WHERE instance = ? AND sequence = ? AND kind = ? AND key IS NULL AND sequence IS NOT NULL`);
    this.#deleteAll = connection.prepare("DELETE FROM inbox WHERE instance = ?");
    this.#deleteAllButEvents = connection.prepare(
      "DELETE FROM inbox WHERE instance = ? AND kind <> 'event'",
    );
    this.#deleteAllButLasting = connection.prepare(
      "DELETE FROM inbox WHERE instance = ? AND parked = 0 AND kind NOT IN ('event', 'cancel')",
    );
    this.#retarget = connection.prepare(`
      UPDATE inbox SET target = (SELECT ${TARGET} FROM instances WHERE key = ?1)
      WHERE instance = ?1 AND parked = 0`);
    this.#park = connection.prepare(
      "UPDATE inbox SET parked = 1 WHERE instance = ? AND parked = 0 AND +kind = 'event'",
    );
    this.#ready = connection.prepare(`
      UPDATE inbox SET parked = 0, target = (SELECT ${TARGET} FROM instances WHERE key = ?1)
      WHERE parked = 1 AND id = (
        SELECT id FROM inbox WHERE instance = ?1 AND kind = 'event' ORDER BY id LIMIT 1)`);
    this.#moveToFront = connection.prepare("UPDATE inbox SET id = -id WHERE id = ?");
  }

  /** The new message's id; null if its key is there already. */
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
      checksumFor(message, ...coveredOf(instance, message)),
    );
    return changed(result) ? Number(result.lastInsertRowid) : null;
  }

  insertStart(instance: number, start: NewMessage): Message {
    const id = this.insert(instance, start);
    if (id === null) throw new Error("A start message has no key that could be there already.");
    return { ...start, id };
  }

  insertTimer(instance: number, execution: number, timer: NewTimer, now: number): void {
    const { kind, sequence, data = "" } = timer;
    const visibleAt = dueTime(timer, now);
    this.insert(instance, { kind, sequence, execution, visibleAt, data, name: null, key: null });
  }

  /** In the order given; under keys that are there already, nothing. */
  insertEvents(
    instance: number,
    events: readonly (KeptMessage & MaybeDamaged)[],
    visibleAt: number,
  ): void {
    for (const event of events) this.insert(instance, { ...event, ...EVENT, visibleAt });
  }

  /** For an instance that has open steps and nobody to run them: no other message tells of it. */
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

  hasDue(instance: number, now: number): boolean {
    return this.#hasDue.get(instance, now) !== undefined;
  }

  /** When the event that was sent last became visible; null if none is unread. */
  lastEventAt(instance: number): number | null {
    const row = this.#selectLastEvent.get(instance);
    return row === undefined ? null : integer(row, "visible_at");
  }

  read(instance: number): Message[] {
    return this.#selectAll.all(instance).map(toMessage);
  }

  readEvents({ key, after, limit, bytesMax }: EventsRequest): EventsPage {
    const rows = this.#selectEvents.all(key, after ?? Number.MIN_SAFE_INTEGER, limit, bytesMax);
    const [first] = rows;
    const more = first !== undefined && integer(first, "sized") > rows.length;
    return { messages: rows.map(toMessage), more };
  }

  /** The start message, while no turn has consumed it. */
  findStart(instance: number): Message | null {
    const row = this.#selectStart.get(instance);
    return row === undefined ? null : toMessage(row);
  }

  /** The one message of that kind with that key, while nobody has taken it. */
  find(instance: number, kind: Message["kind"], key: string): Message | null {
    const row = this.#selectByKey.get(instance, kind, key);
    return row === undefined ? null : toMessage(row);
  }

  consume(instance: number, id: number): void {
    this.#delete.run(id, instance);
  }

  /** The oldest of the events that still wait makes the instance due (I3). */
  ready(instance: number): void {
    this.#ready.run(instance);
  }

  /** The code takes no event now: none makes the instance due (I3). */
  parkEvents(instance: number): void {
    this.#park.run(instance);
  }

  withdrawTimer(instance: number, timer: TimerReference): void {
    this.#deleteTimer.run(instance, timer.sequence, timer.kind);
  }

  clear(instance: number): void {
    this.#deleteAll.run(instance);
  }

  /** The instance has got its version: what waits for it waits for those who register that. */
  retarget(instance: number): void {
    this.#retarget.run(instance);
  }

  /** What an ended instance keeps is what nobody read. */
  park(instance: number): void {
    this.#deleteAllButEvents.run(instance);
    this.#park.run(instance);
  }

  /**
   * Prepares the inbox for the next execution: its start, a pending cancel and the events. Events that no turn has
   * taken stay where they are, parked behind the start.
   */
  carryOver(instance: number, start: NewMessage, unread: readonly KeptMessage[]): void {
    const cancel = this.find(instance, "cancel", "cancel");
    this.#deleteAllButLasting.run(instance);
    this.#putBack(instance, unread, start.visibleAt);
    this.#park.run(instance);
    this.insert(instance, start);
    if (cancel === null) return;
    const { execution } = start;
    const visibleAt = Math.max(cancel.visibleAt, start.visibleAt);
    this.consume(instance, cancel.id);
    this.insert(instance, { ...cancel, execution, visibleAt });
  }

  /** Events that the last execution had taken and not read, in front of those that wait (I5). */
  #putBack(instance: number, unread: readonly KeptMessage[], now: number): void {
    if (unread.length === 0) return;
    const oldest = this.#selectFirstEvent.get(instance);
    const visibleAt = oldest === undefined ? now : Math.min(integer(oldest, "visible_at"), now);
    for (const event of unread.toReversed()) {
      const id = this.insert(instance, { ...event, ...EVENT, visibleAt });
      if (id !== null) this.#moveToFront.run(id);
    }
  }
}

function byInboxOrder(a: Message, b: Message): number {
  return placeOf(a) - placeOf(b) || a.visibleAt - b.visibleAt || a.id - b.id;
}

/** Before everything else (B2). */
function placeOf({ kind }: Message): number {
  return kind === "start" ? 0 : kind === "cancel" ? 1 : 2;
}

const WAKE = { kind: "wake", sequence: null, name: null, data: "", key: "wake" } as const;
const EVENT = { kind: "event", execution: null, sequence: null } as const;
