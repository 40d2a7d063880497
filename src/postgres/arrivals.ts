// Arrivals: events that users' own transactions have sent, on their way into inboxes (docs/decisions/0013).
//   AR1. A user's transaction inserts a row here and touches nothing of its receiver. When it commits, and not before,
//        whoever comes by brings the row into the inbox, as a send of any other kind.
//   AR2. What is brought is deleted in the transaction that puts it into the inbox, under its receiver's lock, row by
//        row: a transaction that commits late is late, never lost, however many were brought before it.
//   AR3. Nothing is sent past what has arrived: who writes to a receiver, or starts it, brings what waits for it first (P7).
//   AR4. What was promised to its sender and finds its receiver ended is unread; what finds it deleted went with it.
//   AR5. A receiver whose row a stranger holds keeps nobody else's arrivals waiting (semantics 32).

import type { SendItem, SimpleResult } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import {
  DONE,
  FINISHED,
  isOtherRequest,
  KEY_REUSED,
  LIMIT_EXCEEDED,
  NOT_FOUND,
} from "../core/provider/results.ts";
import { ColumnArrays, texts } from "./column-arrays.ts";
import { flag, integer, integerOrNull, only, text, textOrNull, type Row } from "./columns.ts";
import { told, type Connection, type Statements } from "./connection.ts";
import { isBusy } from "./errors.ts";
import { INBOX_COLUMNS, ON_SAME_KEY } from "./inbox.ts";
import { TARGET, toStatus } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import { KEPT_MAX, type SummedSend } from "./kept.ts";
import type { Lent } from "./lent.ts";
import { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, type Answer, type Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";
import { summed, type Sends } from "./send.ts";
import { dueOf } from "./tasks.ts";

/** How many rows are brought by one statement. */
const BATCH_MAX = 1_000;
/** How long a group of receivers waits for a lock; and how long its halves. */
const LOCK_MS = 100;
const LOCK_MS_HALVED = 20;
const PARKED = new ColumnArrays({
  checksum: "bigint",
  id: "text",
  request_id: "text",
  name: "text",
  data: "text",
});

export interface ArrivalParts {
  readonly instances: Instances;
  readonly sends: Sends;
  readonly notifier: Notifier;
}

export class Arrivals {
  readonly #connection: Connection;
  readonly #parts: ArrivalParts;
  readonly #receiver: Statement;
  readonly #insert: Statement;
  readonly #refuse: Statement;
  readonly #any: Statement;
  readonly #waiting: Statement;
  readonly #which: Statement;
  readonly #take: Statement;
  readonly #park: Statement;
  #bringing: Promise<void> | null = null;
  #again: Promise<void> | null = null;

  constructor(connection: Connection, parts: ArrivalParts) {
    this.#connection = connection;
    this.#parts = parts;
    this.#receiver = connection.prepare(`
      SELECT i.status, i.lease_owner, ${TARGET} AS target, r.id IS NOT NULL AS sent, r.digest,
        (SELECT count(*) FROM @kept AS k WHERE k.id = t.id) +
        (SELECT count(*) FROM @arrivals AS a WHERE a.id = t.id) AS waiting
      FROM (SELECT $1::text AS id, $2::text AS request_id) AS t
      LEFT JOIN @instances AS i ON i.id = t.id
      LEFT JOIN @requests AS r ON r.instance = i.key AND r.kind = 'send' AND r.id = t.request_id`);
    this.#insert = connection.prepare(`
      INSERT INTO @arrivals (id, request_id, keep, name, data, checksum, digest)
      VALUES ($1::text, $2::text, $3::boolean, $4::text, $5::text, $6::integer, $7::text)`);
    this.#refuse = connection.prepare(`
      SELECT @refuse('something has arrived') FROM @arrivals AS a WHERE a.id = ANY ($1::text[]) LIMIT 1`);
    this.#any = connection.prepare("SELECT EXISTS (SELECT 1 FROM @arrivals) AS any");
    this.#waiting = connection.prepare(`
      SELECT DISTINCT a.id FROM (
        SELECT x.id FROM @arrivals AS x WHERE x.id <> ALL ($1::text[])
        ORDER BY x.number LIMIT ${BATCH_MAX}
      ) AS a`);
    this.#which = connection.prepare(
      "SELECT DISTINCT a.id FROM @arrivals AS a WHERE a.id = ANY ($1::text[])",
    );
    this.#take = connection.prepare(`
      DELETE FROM @arrivals AS a USING (
        SELECT x.number FROM @arrivals AS x WHERE x.id = ANY ($1::text[])
        ORDER BY x.number + 0 LIMIT ${BATCH_MAX} FOR UPDATE
      ) AS b WHERE ${probe("a.number", "b.number")}
      RETURNING a.number, a.id, a.request_id, a.keep, a.name, a.data,
        a.checksum, a.digest`);
    this.#park = connection.prepare(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT i.key, i.priority, ${TARGET}, true, (SELECT @clock()), NULL, NULL, 'event', t.name,
        t.request_id, t.data, t.checksum
      FROM ${PARKED.from("t")} JOIN @instances AS i ON ${probe("i.id", "t.id")}
      ORDER BY t.n ${ON_SAME_KEY}`);
  }

  /** Within a user's transaction (AR1). Refused as it stands there: a receiver may still end before it commits. */
  async send(lent: Lent, item: SendItem, news: NewsDraft): Promise<SimpleResult> {
    const { id, requestId, requestDigest, ifMissing, name, data } = item;
    const row = only(await lent.ask(this.#receiver, [id, requestId]));
    if (flag(row, "sent")) {
      return isOtherRequest(textOrNull(row, "digest"), requestDigest) ? KEY_REUSED : DONE;
    }
    const refusal = refusalOf(row, ifMissing);
    if (refusal !== null) return refusal;
    const { checksum } = summed(item);
    const keep = ifMissing === "keep";
    const digest = requestDigest ?? null;
    await lent.ask(this.#insert, [id, requestId, keep, name, data, checksum, digest]);
    if (textOrNull(row, "status") !== null) news.arrived(id, dueOf(row));
    return DONE;
  }

  /** Ends the transaction if something waits for one of these ids (AR3). */
  refuse(pipeline: Pipeline, ids: readonly string[]): void {
    if (ids.length > 0) pipeline.add(this.#refuse, [texts(ids)]);
  }

  /** Whether anything waits; read by `anyIn`. */
  look(pipeline: Pipeline): Answer {
    return pipeline.add(this.#any);
  }

  /** Brings what waits for these ids, in the order in which it was sent, within a transaction that goes on. */
  async bring(statements: Statements, ids: readonly string[], news: NewsDraft): Promise<void> {
    if (ids.length === 0) return;
    for (;;) {
      const waiting = await statements.run(this.#which, [texts(ids)]);
      if (waiting.length === 0) return;
      const receivers = waiting.map((row) => text(row, "id"));
      const pipeline = new Pipeline();
      this.#parts.instances.lock(pipeline, { keys: [], ids: receivers });
      const taken = pipeline.add(this.#take, [texts(receivers)]);
      await statements.all(pipeline);
      const rows = taken.rows.toSorted((a, b) => integer(a, "number") - integer(b, "number"));
      await this.#deliver(statements, rows.map(toItem), news);
    }
  }

  /** Brings everything that has arrived, for whomever. Who asks meanwhile is served by the next round. */
  bringAll(): Promise<void> {
    if (this.#bringing === null) {
      this.#bringing = this.#rounds().finally(() => (this.#bringing = null));
      return this.#bringing;
    }
    const under = this.#bringing;
    this.#again ??= under
      .catch(() => undefined) // told to whoever asked for that round
      .then(() => {
        this.#again = null;
        return this.bringAll();
      });
    return this.#again;
  }

  /** Before an inbox is read by somebody who would miss what has arrived. */
  async settle(): Promise<void> {
    const [row] = await this.#connection.read(this.#any);
    if (row !== undefined && anyIn([row])) await this.bringAll();
  }

  async #rounds(): Promise<void> {
    const stuck: string[] = [];
    for (;;) {
      const rows = await this.#connection.read(this.#waiting, [texts(stuck)]);
      if (rows.length === 0) return;
      const ids = rows.map((row) => text(row, "id"));
      stuck.push(...(await this.#halving(ids, LOCK_MS)));
    }
  }

  /** AR5. Answers with those that have to wait. */
  async #halving(ids: readonly string[], lockMs: number): Promise<readonly string[]> {
    const news = new NewsDraft();
    try {
      await this.#connection.transact({ lockMs }, (statements) =>
        this.bring(statements, ids, news),
      );
    } catch (error) {
      if (!isBusy(error)) return told(Promise.reject(error));
      if (ids.length === 1) return ids;
      const middle = ids.length >> 1;
      const first = await this.#halving(ids.slice(0, middle), LOCK_MS_HALVED);
      return [...first, ...(await this.#halving(ids.slice(middle), LOCK_MS_HALVED))];
    }
    this.#parts.notifier.publish(news);
    return [];
  }

  async #deliver(
    statements: Statements,
    items: readonly SummedSend[],
    news: NewsDraft,
  ): Promise<void> {
    const { sends } = this.#parts;
    const pipeline = new Pipeline();
    const read = sends.send(pipeline, items, news);
    await statements.all(pipeline);
    const results = read();
    const late: SummedSend[] = [];
    for (const [index, item] of items.entries()) {
      const result = results[index] ?? null;
      if (result?.kind === "refused") late.push(item); // AR4
      if (result !== null || item.ifMissing === "fail") continue;
      // Null once more: it was started meanwhile, and can be sent to like any other.
      if ((await sends.sendToMissing(statements, item)) === null) {
        await this.#deliver(statements, [item], news);
      }
    }
    if (late.length === 0) return;
    const rows = late.map((item) => ({ ...item, request_id: item.requestId }));
    await statements.run(this.#park, PARKED.values(rows));
  }
}

/** The answer to `look`. */
export function anyIn(rows: readonly Row[]): boolean {
  return flag(only(rows), "any");
}

function refusalOf(row: Row, ifMissing: SendItem["ifMissing"]): SimpleResult | null {
  const status = toStatus(row);
  if (status !== null) return isTerminalStatus(status) ? FINISHED : null;
  if (ifMissing === "fail") return NOT_FOUND;
  return integer(row, "waiting") >= KEPT_MAX ? LIMIT_EXCEEDED : null;
}

function toItem(row: Row): SummedSend {
  const digest = textOrNull(row, "digest");
  return {
    kind: "send",
    id: text(row, "id"),
    requestId: text(row, "request_id"),
    ...(digest === null ? {} : { requestDigest: digest }),
    ifMissing: flag(row, "keep") ? "keep" : "fail",
    name: text(row, "name"),
    data: text(row, "data"),
    checksum: integerOrNull(row, "checksum"),
  };
}
