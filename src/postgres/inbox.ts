// Inbox: the messages of instances.
//   I1. `due` hands out what is visible: the start, a pending cancel, then by (visible at, id) (B2).
//   I2. A key that an instance's inbox holds already is not stored again (B3). Kinds have keys of their own:
//       the engine's are made by rule, a sender's are whatever he likes.
//   I3. Only ready messages make an instance due; parked ones do not. Of the events that wait for a live instance the
//       oldest is ready, or its start is; the others are parked behind it, and handed over with it. A turn whose code
//       takes no event now parks the oldest one too. So neither the search for due instances nor continueAsNew costs
//       more when more events wait. All events of an ended instance are parked: they can be read.
//   I4. Who writes to an inbox holds its instance's row, or takes away a task of it: so nothing is written to an
//       instance that ends at the same moment. A user's transaction, which may do neither, writes arrivals instead.
//   I5. The order of events is the order of their ids. Events that are put back get negative ids, the smallest one
//       last, so that they come before all that wait, which need not be written again.

import type {
  EventsPage,
  EventsRequest,
  KeptMessage,
  Message,
  NewTimer,
  TimerReference,
} from "../core/provider/messages.ts";
import { ColumnArrays, plain } from "./column-arrays.ts";
import { integer, type Row } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { Gathering } from "./gathering.ts";
import { TARGET } from "./instance-rows.ts";
import {
  COLUMNS,
  dueColumns,
  dueMessages,
  dueTime,
  IN_ORDER,
  messageChecksum,
  toMessage,
  type NewMessage,
} from "./messages.ts";
import { Pipeline, type Answer, type Statement } from "./pipeline.ts";
import { probe, some } from "./probing.ts";

/** What every message takes over from its instance `i`. */
export const INBOX_COLUMNS = `
  instance, priority, target, parked, visible_at, execution, sequence, kind, name, key, data,
  checksum`;
export const OF_INSTANCE = `i.key, i.priority, ${TARGET}, false`;
/** For a message of that kind: an event is parked if another one waits already (I3). */
export function ofReceiver(kind: string): string {
  return `i.key, i.priority, ${TARGET}, ${kind} = 'event' AND EXISTS (
    SELECT 1 FROM @inbox AS w WHERE w.instance = i.key AND w.kind = 'event')`;
}
export const ON_SAME_KEY = "ON CONFLICT (instance, kind, key) WHERE key IS NOT NULL DO NOTHING";

const MESSAGES = new ColumnArrays({
  instance: "bigint",
  delay: "bigint",
  due_at: "bigint",
  execution: "bigint",
  sequence: "bigint",
  checksum: "bigint",
  kind: "text",
  name: "text",
  key: "text",
  data: "text",
});
const CONSUMED = new ColumnArrays({ id: "bigint", instance: "bigint" });
const TIMERS = new ColumnArrays({ instance: "bigint", sequence: "bigint", kind: "text" });
const ASKED = new ColumnArrays({ key: "bigint", messages_max: "bigint" });

/** SQL of a join with one instance's ready messages, as x. It is looked up by itself: its index is partial (PB3). */
function readyOf(instance: string, which = "true"): string {
  return `CROSS JOIN LATERAL (
        SELECT e.id FROM @inbox AS e WHERE e.instance = ${instance} AND NOT e.parked AND ${which} OFFSET 0
      ) AS x`;
}

export class Inbox {
  readonly #connection: Connection;
  /** By how many messages are asked for at most. */
  readonly #taking = new Map<number, Gathering<number, Message[]>>();
  readonly #put: Statement;
  readonly #consume: Statement;
  readonly #withdraw: Statement;
  readonly #retarget: Statement;
  readonly #clear: Statement;
  readonly #clearAllButEvents: Statement;
  readonly #park: Statement;
  readonly #parkEvents: Statement;
  readonly #ready: Statement;
  readonly #readdress: Statement;
  readonly #clearAllButLasting: Statement;
  readonly #putBack: Statement;
  readonly #due: Statement;
  readonly #hasDue: Statement;
  readonly #selectAll: Statement;
  readonly #selectEvents: Statement;
  readonly #selectStart: Statement;
  readonly #selectByKey: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#put = connection.prepare(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, ${dueTime("m")}, m.execution, m.sequence, m.kind, m.name, m.key, m.data,
        m.checksum
      FROM ${MESSAGES.from("m")} JOIN @instances AS i ON ${probe("i.key", "m.instance")}
      ORDER BY m.n ${ON_SAME_KEY} RETURNING id, visible_at`);
    this.#consume = connection.prepare(`
      DELETE FROM @inbox AS m USING ${CONSUMED.from("c")}
      WHERE ${probe("m.id", "c.id")} AND ${probe("m.instance", "c.instance")}`);
    this.#withdraw = connection.prepare(`
      DELETE FROM @inbox AS m USING (
        SELECT x.id FROM ${TIMERS.from("t")} CROSS JOIN LATERAL (
          SELECT w.id FROM @inbox AS w
          WHERE w.instance = t.instance AND w.sequence = t.sequence AND w.kind = t.kind
            AND w.key IS NULL AND w.sequence IS NOT NULL OFFSET 0
        ) AS x
      ) AS gone WHERE ${probe("m.id", "gone.id")}`);
    this.#retarget = connection.prepare(`
      UPDATE @inbox AS m SET target = ${TARGET}
      FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${probe("i.key", "k.key")}
      ${readyOf("k.key")} WHERE ${probe("m.id", "x.id")}`);
    const all = `DELETE FROM @inbox AS m USING unnest($1::bigint[]) AS k (key) WHERE ${probe("m.instance", "k.key")}`;
    this.#clear = connection.prepare(all);
    this.#clearAllButEvents = connection.prepare(`${all} AND m.kind <> 'event'`);
    this.#park = connection.prepare(`
      UPDATE @inbox AS m SET parked = true FROM unnest($1::bigint[]) AS k (key)
      ${readyOf("k.key")} WHERE ${probe("m.id", "x.id")}`);
    this.#ready = connection.prepare(`
      UPDATE @inbox AS m SET parked = false, target = o.target FROM (
        SELECT x.id, ${TARGET} AS target FROM unnest($1::bigint[]) AS k (key)
        JOIN @instances AS i ON ${probe("i.key", "k.key")}
        CROSS JOIN LATERAL (
          SELECT e.id, e.parked FROM @inbox AS e WHERE e.instance = k.key AND e.kind = 'event'
          ORDER BY e.id LIMIT 1
        ) AS x WHERE x.parked
      ) AS o WHERE ${probe("m.id", "o.id")}`);
    this.#readdress = connection.prepare(`
      UPDATE @inbox AS m SET id = nextval('@message_ids'), execution = i.execution,
        visible_at = greatest(m.visible_at, (SELECT @clock())), target = ${TARGET}
      FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${probe("i.key", "k.key")}
      ${readyOf("k.key", "e.kind = 'cancel'")} WHERE ${probe("m.id", "x.id")}`);
    this.#parkEvents = connection.prepare(`
      UPDATE @inbox AS m SET parked = true FROM unnest($1::bigint[]) AS k (key)
      ${readyOf("k.key", "e.kind = 'event'")} WHERE ${probe("m.id", "x.id")}`);
    this.#clearAllButLasting = connection.prepare(`
      DELETE FROM @inbox AS m USING unnest($1::bigint[]) AS k (key)
      ${readyOf("k.key", "e.kind NOT IN ('event', 'cancel')")} WHERE ${probe("m.id", "x.id")}`);
    this.#putBack = connection.prepare(`
      INSERT INTO @inbox (id, ${INBOX_COLUMNS})
      SELECT -nextval('@message_ids'), b.instance, b.priority, b.target, true, b.visible_at, NULL,
        NULL, 'event', b.name, b.key, b.data, b.checksum
      FROM (
        SELECT m.instance, i.priority, ${TARGET} AS target, m.name, m.key, m.data, m.checksum,
          least((SELECT @clock()), (
            SELECT e.visible_at FROM @inbox AS e WHERE e.instance = i.key AND e.kind = 'event'
            ORDER BY e.id LIMIT 1)) AS visible_at
        FROM ${MESSAGES.from("m")} JOIN @instances AS i ON ${probe("i.key", "m.instance")}
        ORDER BY m.n DESC
      ) AS b ${ON_SAME_KEY}`);
    this.#due = connection.prepare(`
      SELECT a.key AS instance, ${COLUMNS} FROM ${ASKED.from("a")}
      CROSS JOIN LATERAL (${dueMessages("a.key", "a.messages_max")}) AS m
      ORDER BY a.n, ${IN_ORDER}`);
    this.#hasDue = connection.prepare(`
      SELECT i.id, i.lease_owner, ${TARGET} AS target
      FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${probe("i.key", "k.key")}
      WHERE ${some(`
        FROM @inbox AS m
        WHERE m.instance = k.key AND NOT m.parked AND m.visible_at <= (SELECT @clock())`)}`);
    this.#selectAll = connection.prepare(
      `SELECT ${COLUMNS} FROM @inbox AS m WHERE m.instance = $1 ORDER BY ${IN_ORDER}`,
    );
    this.#selectEvents = connection.prepare(`
      WITH sized AS (
        SELECT id, row_number() OVER (ORDER BY id) AS n,
          sum(bytes) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
        FROM (
          SELECT id, octet_length(data) AS bytes FROM @inbox
          WHERE instance = $1 AND kind = 'event' AND id > $2 ORDER BY id LIMIT $3::bigint + 1) AS e
      )
      SELECT ${COLUMNS}, (SELECT count(*) FROM sized) AS sized
      FROM sized AS s JOIN @inbox AS m ON ${probe("m.id", "s.id")}
      WHERE s.n = 1 OR (s.n <= $3::bigint AND s.total <= $4::bigint) ORDER BY s.n`);
    this.#selectStart = connection.prepare(
      `SELECT ${COLUMNS} FROM @inbox AS m WHERE m.instance = $1 AND NOT m.parked AND m.kind = 'start'`,
    );
    this.#selectByKey = connection.prepare(
      `SELECT ${COLUMNS} FROM @inbox AS m WHERE m.instance = $1 AND m.kind = $2 AND m.key = $3`,
    );
  }

  /** Its answer tells ids, but only of what was not there already. */
  put(pipeline: Pipeline, messages: readonly NewMessage[]): Answer | null {
    if (messages.length === 0) return null;
    return pipeline.add(this.#put, MESSAGES.values(summed(messages)));
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

  /** The instances have got their versions: what waits for them waits for those who register that. */
  retarget(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#retarget, [plain(instances)]);
  }

  /** What an ended instance keeps is what nobody read. */
  park(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length === 0) return;
    pipeline.add(this.#clearAllButEvents, [plain(instances)]);
    pipeline.add(this.#park, [plain(instances)]);
  }

  /** The oldest of the events that still wait makes its instance due (I3). */
  ready(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#ready, [plain(instances)]);
  }

  /** The code of these takes no event now: none makes its instance due (I3). */
  parkEvents(pipeline: Pipeline, instances: readonly number[]): void {
    if (instances.length > 0) pipeline.add(this.#parkEvents, [plain(instances)]);
  }

  /**
   * Prepares inboxes for the next executions: their starts, a pending cancel and the events. Events that no turn has
   * taken stay where they are, parked behind the start.
   */
  carryOver(
    pipeline: Pipeline,
    starts: readonly NewMessage[],
    unread: readonly NewMessage[],
  ): void {
    const instances = plain(starts.map(({ instance }) => instance));
    pipeline.add(this.#clearAllButLasting, [instances]);
    if (unread.length > 0) pipeline.add(this.#putBack, MESSAGES.values(summed(unread)));
    pipeline.add(this.#parkEvents, [instances]);
    pipeline.add(this.#readdress, [instances]);
    this.put(pipeline, starts);
  }

  /** What is due for each of these; read by `messagesOf`. */
  due(
    pipeline: Pipeline,
    asked: readonly { readonly key: number; readonly messages_max: number }[],
  ): Answer | null {
    return asked.length === 0 ? null : pipeline.add(this.#due, ASKED.values(asked));
  }

  /** Its answer names those of them that have something due: id, lease_owner, target. */
  hasDue(pipeline: Pipeline, instances: readonly number[]): Answer | null {
    return instances.length === 0 ? null : pipeline.add(this.#hasDue, [plain(instances)]);
  }

  /** What is due for each of these. */
  async take(keys: readonly number[], messagesMax: number): Promise<Map<number, Message[]>> {
    let gathering = this.#taking.get(messagesMax);
    if (gathering === undefined) {
      gathering = new Gathering((asked) => this.#takeAll(asked, messagesMax), []);
      this.#taking.set(messagesMax, gathering);
    }
    const taking = gathering;
    const messages = await Promise.all(keys.map((key) => taking.get(key)));
    return new Map(keys.map((key, index) => [key, messages[index] ?? []]));
  }

  async #takeAll(keys: readonly number[], messagesMax: number): Promise<Map<number, Message[]>> {
    const pipeline = new Pipeline();
    const asked = keys.map((key) => ({ key, messages_max: messagesMax }));
    const due = this.due(pipeline, asked);
    await this.#connection.look(pipeline);
    return messagesOf(due);
  }

  async read(instance: number): Promise<Message[]> {
    return (await this.#connection.read(this.#selectAll, [instance])).map(toMessage);
  }

  async readEvents({ key, after, limit, bytesMax }: EventsRequest): Promise<EventsPage> {
    const values = [key, after ?? Number.MIN_SAFE_INTEGER, limit, bytesMax];
    const rows = await this.#connection.read(this.#selectEvents, values);
    const [first] = rows;
    const more = first !== undefined && integer(first, "sized") > rows.length;
    return { messages: rows.map(toMessage), more };
  }

  /** The start message, while no turn has consumed it. */
  async findStart(statements: Pick<Statements, "run">, instance: number): Promise<Message | null> {
    return first(await statements.run(this.#selectStart, [instance]));
  }

  /** The one message of that kind with that key, while nobody has taken it. */
  async find(
    statements: Pick<Statements, "run">,
    message: { readonly instance: number; readonly kind: Message["kind"]; readonly key: string },
  ): Promise<Message | null> {
    const { instance, kind, key } = message;
    return first(await statements.run(this.#selectByKey, [instance, kind, key]));
  }
}

/** The answer to `due`, by instance. */
export function messagesOf(answer: Answer | null): Map<number, Message[]> {
  const messages = new Map<number, Message[]>();
  for (const row of answer?.rows ?? []) {
    const instance = integer(row, "instance");
    const list = messages.get(instance);
    if (list === undefined) messages.set(instance, [toMessage(row)]);
    else list.push(toMessage(row));
  }
  return messages;
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

/** For an instance that has open steps and nobody to run them: no other message tells of it. */
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

function summed(messages: readonly NewMessage[]) {
  return messages.map((message) => ({ ...message, checksum: messageChecksum(message) }));
}

function first(rows: readonly Row[]): Message | null {
  return rows[0] === undefined ? null : toMessage(rows[0]);
}
