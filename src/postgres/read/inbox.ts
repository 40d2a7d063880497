// Inbox: the messages of instances.
//   - `due` returns the visible messages: the start, a pending cancel, then by (visible at, id)
//       (messages.2).
//   - A message with a key that the inbox already holds is not stored again (messages.3). Keys are separate
//       per kind: the engine derives its keys, a sender may choose any.
//   - postgres.inbox.1: Only ready messages make an instance due; parked messages do not. Of the events
//       that wait for a live instance, only the oldest is ready, or none if the start is; the others are
//       parked behind it and delivered with it. A turn whose code accepts no event now parks the oldest one
//       too. So the search for due instances and continueAsNew do not slow down when many events wait. All
//       events of an ended instance are parked and can still be read.
//   - postgres.inbox.2: A transaction that writes to an inbox must lock the row of its instance or delete
//       one of its tasks. So nothing is written to an instance that ends at the same moment. A user
//       transaction can do neither, and writes arrivals instead.
//   - The order of events is the order of their ids. Events that are put back get negative ids, in
//       descending order, so they precede all waiting events, which need not be rewritten.

import type {
  KeptMessage,
  Message,
  NewTimer,
  TimerReference,
} from "../../core/provider/messages.ts";
import { ColumnArrays, columns, plain } from "../sql/column-arrays.ts";
import { integer } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { ReadBatcher } from "../sql/read-batcher.ts";
import { TARGET } from "../../sql/rows/instance-rows.ts";
import { dueColumns, dueTime, messageChecksum, toMessage, type NewMessage } from "./messages.ts";
import { HAS_DUE } from "../../sql/read/inbox.ts";
import { IN_ORDER, MESSAGE_COLUMNS } from "../../sql/rows/messages.ts";
import { Pipeline, type Answer } from "../connection/pipeline.ts";
import { indexEquals, exists } from "../../sql/index-lookup.ts";

/** The columns of an insert; OF_INSTANCE gives the values that a message takes from its instance `i`. */
export const INBOX_COLUMNS = `
  instance, priority, target, parked, visible_at, execution, sequence, kind, name, key, data,
  checksum`;
export const OF_INSTANCE = `i.key, i.priority, ${TARGET}, false`;
/** SQL condition: an event waits for the instance `i`. */
export const HAS_EVENT = exists(`
    FROM @inbox AS w WHERE w.instance = i.key AND w.kind = 'event'`);
/** Like OF_INSTANCE, but an event is parked if another event waits already (postgres.inbox.1). */
export function ofReceiver(kind: string): string {
  return `i.key, i.priority, ${TARGET}, ${kind} = 'event' AND ${HAS_EVENT}`;
}
export const ON_SAME_KEY = "ON CONFLICT (instance, kind, key) WHERE key IS NOT NULL DO NOTHING";

const MESSAGES = new ColumnArrays({
  ...columns("bigint", "instance", "delay", "due_at", "execution", "sequence", "checksum"),
  ...columns("text", "kind", "name", "key", "data"),
});
const CONSUMED = new ColumnArrays({ id: "bigint", instance: "bigint" });
const TIMERS = new ColumnArrays({ instance: "bigint", sequence: "bigint", kind: "text" });
const ASKED = new ColumnArrays({ key: "bigint", messages_max: "bigint" });

/**
 * SQL for a join with the ready messages `x` of one instance, as a separate lookup, because the index is
 * partial (index-lookup.1).
 */
export function readyOf(instance: string, which = "true"): string {
  return `CROSS JOIN LATERAL (
        SELECT e.id FROM @inbox AS e WHERE e.instance = ${instance} AND NOT e.parked AND ${which} OFFSET 0
      ) AS x`;
}

const DELETE_ALL = `
  DELETE FROM @inbox AS m USING unnest($1::bigint[]) AS k (key)
  WHERE ${indexEquals("m.instance", "k.key")}`;

export class Inbox extends Subject {
  /** One batcher per maximum number of messages. */
  readonly #batchers = new Map<number, ReadBatcher<number, Message[]>>();
  readonly #put = this.prepare(`
    INSERT INTO @inbox (${INBOX_COLUMNS})
    SELECT ${OF_INSTANCE}, ${dueTime("m")}, m.execution, m.sequence, m.kind, m.name, m.key, m.data,
      m.checksum
    FROM ${MESSAGES.from("m")} JOIN @instances AS i ON ${indexEquals("i.key", "m.instance")}
    ORDER BY m.n ${ON_SAME_KEY} RETURNING id, visible_at`);
  readonly #consume = this.prepare(`
    DELETE FROM @inbox AS m USING ${CONSUMED.from("c")}
    WHERE ${indexEquals("m.id", "c.id")} AND ${indexEquals("m.instance", "c.instance")}`);
  readonly #withdraw = this.prepare(`
    DELETE FROM @inbox AS m USING (
      SELECT x.id FROM ${TIMERS.from("t")} CROSS JOIN LATERAL (
        SELECT w.id FROM @inbox AS w
        WHERE w.instance = t.instance AND w.sequence = t.sequence AND w.kind = t.kind
          AND w.key IS NULL AND w.sequence IS NOT NULL OFFSET 0
      ) AS x
    ) AS gone WHERE ${indexEquals("m.id", "gone.id")}`);
  readonly #retarget = this.prepare(`
    UPDATE @inbox AS m SET target = ${TARGET}
    FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${indexEquals("i.key", "k.key")}
    ${readyOf("k.key")} WHERE ${indexEquals("m.id", "x.id")}`);
  readonly #clear = this.prepare(DELETE_ALL);
  readonly #clearAllButEvents = this.prepare(`${DELETE_ALL} AND m.kind <> 'event'`);
  readonly #park = this.prepare(`
    UPDATE @inbox AS m SET parked = true FROM unnest($1::bigint[]) AS k (key)
    ${readyOf("k.key")} WHERE ${indexEquals("m.id", "x.id")}`);
  readonly #parkEvents = this.prepare(`
    UPDATE @inbox AS m SET parked = true FROM unnest($1::bigint[]) AS k (key)
    ${readyOf("k.key", "e.kind = 'event'")} WHERE ${indexEquals("m.id", "x.id")}`);
  readonly #ready = this.prepare(`
    UPDATE @inbox AS m SET parked = false, target = o.target FROM (
      SELECT x.id, ${TARGET} AS target FROM unnest($1::bigint[]) AS k (key)
      JOIN @instances AS i ON ${indexEquals("i.key", "k.key")}
      CROSS JOIN LATERAL (
        SELECT e.id, e.parked FROM @inbox AS e WHERE e.instance = k.key AND e.kind = 'event'
        ORDER BY e.id LIMIT 1
      ) AS x WHERE x.parked
    ) AS o WHERE ${indexEquals("m.id", "o.id")}`);
  readonly #readdress = this.prepare(`
    UPDATE @inbox AS m SET id = nextval('@message_ids'), execution = i.execution,
      visible_at = greatest(m.visible_at, (SELECT @clock())), target = ${TARGET}
    FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${indexEquals("i.key", "k.key")}
    ${readyOf("k.key", "e.kind = 'cancel'")} WHERE ${indexEquals("m.id", "x.id")}`);
  readonly #clearAllButLasting = this.prepare(`
    DELETE FROM @inbox AS m USING unnest($1::bigint[]) AS k (key)
    ${readyOf("k.key", "e.kind NOT IN ('event', 'cancel')")} WHERE ${indexEquals("m.id", "x.id")}`);
  readonly #putBack = this.prepare(`
    INSERT INTO @inbox (id, ${INBOX_COLUMNS})
    SELECT -nextval('@message_ids'), b.instance, b.priority, b.target, true, b.visible_at, NULL,
      NULL, 'event', b.name, b.key, b.data, b.checksum
    FROM (
      SELECT m.instance, i.priority, ${TARGET} AS target, m.name, m.key, m.data, m.checksum,
        least((SELECT @clock()), (
          SELECT e.visible_at FROM @inbox AS e WHERE e.instance = i.key AND e.kind = 'event'
          ORDER BY e.id LIMIT 1)) AS visible_at
      FROM ${MESSAGES.from("m")} JOIN @instances AS i ON ${indexEquals("i.key", "m.instance")}
      ORDER BY m.n DESC
    ) AS b ${ON_SAME_KEY}`);
  // After most turns no message is due. Then one lookup decides, because no message is due without a ready one.
  readonly #due = this.prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM ${ASKED.from("a")}
    CROSS JOIN LATERAL @due_messages(a.key, a.messages_max) AS m
    WHERE ${exists(`
      FROM @inbox AS g
      WHERE g.instance = a.key AND NOT g.parked AND g.visible_at <= (SELECT @clock())`)}
    ORDER BY a.n, ${IN_ORDER}`);
  readonly #hasDue = this.connection.statements.get(HAS_DUE);

  /** The answer holds the ids of the inserted messages, not of those whose key was there already. */
  put(pipeline: Pipeline, messages: readonly NewMessage[]): Answer | null {
    if (messages.length === 0) return null;
    return pipeline.add(this.#put, MESSAGES.values(withChecksums(messages)));
  }

  consume(
    pipeline: Pipeline,
    consumed: readonly { readonly id: number; readonly instance: number }[],
  ) {
    if (consumed.length > 0) pipeline.add(this.#consume, CONSUMED.values(consumed));
  }

  withdraw(
    pipeline: Pipeline,
    timers: readonly (TimerReference & { readonly instance: number })[],
  ): void {
    if (timers.length > 0) pipeline.add(this.#withdraw, TIMERS.values(timers));
  }

  clear(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#clear, [plain(instances)]);
  }

  /** Updates the target of ready messages after the instances have got their versions. */
  retarget(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#retarget, [plain(instances)]);
  }

  /** Leaves ended instances only their unread events. */
  park(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length === 0) return;
    pipeline.add(this.#clearAllButEvents, [plain(instances)]);
    pipeline.add(this.#park, [plain(instances)]);
  }

  /**
   * Makes the oldest waiting event of each instance ready, so that the instance is due (postgres.inbox.1).
   */
  ready(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#ready, [plain(instances)]);
  }

  /** Parks all events of these instances, because their code accepts none now (postgres.inbox.1). */
  parkEvents(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#parkEvents, [plain(instances)]);
  }

  /**
   * Prepares inboxes for the next executions: their starts, a pending cancel and the events. Events that no
   * turn has consumed keep their place, parked behind the start.
   */
  carryOver(
    pipeline: Pipeline,
    starts: readonly NewMessage[],
    unread: readonly NewMessage[],
  ): void {
    const instances = plain(starts.map(({ instance }) => instance));
    pipeline.add(this.#clearAllButLasting, [instances]);
    if (unread.length > 0) pipeline.add(this.#putBack, MESSAGES.values(withChecksums(unread)));
    pipeline.add(this.#parkEvents, [instances]);
    pipeline.add(this.#readdress, [instances]);
    this.put(pipeline, starts);
  }

  /** Puts events in front of those that wait, and parks all events. */
  putBack(pipeline: Pipeline, instance: number, events: readonly KeptMessage[]): void {
    const messages = events.map((event) => eventMessage(instance, event));
    if (messages.length > 0) pipeline.add(this.#putBack, MESSAGES.values(withChecksums(messages)));
    this.parkEvents(pipeline, [instance]);
  }

  /** Selects the due messages of each instance; `messagesOf` reads the answer. */
  due(
    pipeline: Pipeline,
    asked: readonly { readonly key: number; readonly messages_max: number }[],
  ): Answer | null {
    return asked.length === 0 ? null : pipeline.add(this.#due, ASKED.values(asked));
  }

  /** The answer names the instances with a due message: id, lease_owner, target. */
  hasDue(pipeline: Pipeline, instances: readonly number[]): Answer | null {
    return instances.length === 0 ? null : pipeline.add(this.#hasDue, [plain(instances)]);
  }

  /** The due messages of each instance. Concurrent calls share one query. */
  async take(keys: readonly number[], messagesMax: number): Promise<Map<number, Message[]>> {
    let batcher = this.#batchers.get(messagesMax);
    if (batcher === undefined) {
      batcher = new ReadBatcher((asked) => this.#takeAll(asked, messagesMax), []);
      this.#batchers.set(messagesMax, batcher);
    }
    const due = batcher;
    const messages = await Promise.all(keys.map((key) => due.get(key)));
    return new Map(keys.map((key, index) => [key, messages[index] ?? []]));
  }

  async #takeAll(keys: readonly number[], messagesMax: number): Promise<Map<number, Message[]>> {
    const pipeline = new Pipeline();
    const asked = keys.map((key) => ({ key, messages_max: messagesMax }));
    const due = this.due(pipeline, asked);
    await this.connection.readPipeline(pipeline);
    return messagesOf(due);
  }
}

/** The answer to `due`, by instance. */
export function messagesOf(answer: Answer | null): Map<number, Message[]> {
  const found = Map.groupBy(answer?.rows ?? [], (row) => integer(row, "instance"));
  return new Map(found.entries().map(([instance, rows]) => [instance, rows.map(toMessage)]));
}

export function startMessage(instance: number, execution: number, data: string): NewMessage {
  return { ...PLAIN, instance, kind: "start", execution, data };
}

export function timerMessage(instance: number, execution: number, timer: NewTimer): NewMessage {
  const { kind, sequence, data = "" } = timer;
  return { ...PLAIN, ...dueColumns(timer), instance, kind, execution, sequence, data };
}

export function eventMessage(instance: number, { name, data, key }: KeptMessage): NewMessage {
  return { ...PLAIN, instance, kind: "event", name, data, key };
}

/** Makes an instance due that has open steps and no runtime to run them; it has no other message. */
export function wakeMessage(instance: number, execution: number): NewMessage {
  return { ...PLAIN, instance, kind: "wake", execution, key: "wake" };
}

const PLAIN = {
  execution: null,
  sequence: null,
  name: null,
  key: null,
  data: "",
  delay: null,
  due_at: null,
} as const;

function withChecksums(messages: readonly NewMessage[]) {
  return messages.map((message) => ({ ...message, checksum: messageChecksum(message) }));
}
