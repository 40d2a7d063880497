// Outbox: events sent by users' transactions, on their way to inboxes (docs/decisions/0013).
//   - outbox.1: A user's transaction inserts a row here and does not touch the receiver's row. After it has
//     committed, any process moves the row into the inbox, like any other send.
//   - The row is deleted in the transaction that puts the event into the inbox, under the receiver's lock.
//     Each row is found by itself, not by a position in the table, so a transaction that commits late is
//     delivered late but never lost.
//   - outbox.2: A send or a start never overtakes a waiting event: before it writes to a receiver, it
//     drains the receiver's events from the outbox (P7).
//   - outbox.3: If the receiver has ended by then, the event is stored as unread. If the receiver has been
//     deleted, the event is dropped, unless its sender asked to keep it for the next instance of that id.
//   - outbox.4: A receiver whose row is locked outside Perdure does not delay the events of other receivers
//     (semantics 32).

import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { EARLY_MESSAGES_MAX } from "../../core/provider/shared/early-messages.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import { DONE, FINISHED, LIMIT_EXCEEDED, NOT_FOUND } from "../../core/provider/results.ts";
import { ColumnArrays, columns, texts } from "../sql/column-arrays.ts";
import {
  flag,
  integer,
  integerOrNull,
  only,
  text,
  textOrNull,
  type Row,
} from "../../sql/columns.ts";
import { withPerdureErrors, type Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { isBusy } from "../connection/errors.ts";
import { INBOX_COLUMNS, ON_SAME_KEY } from "../read/inbox.ts";
import { TARGET, toStatus } from "../../sql/rows/instance-rows.ts";
import type { Instances } from "../read/instances.ts";
import type { ChecksummedSend } from "../write/early-messages.ts";
import type { BorrowedTransaction } from "./borrowed-transaction.ts";
import { ChangeDraft } from "../notify/change-draft.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline, type Answer } from "../connection/pipeline.ts";
import { indexEquals } from "../../sql/index-lookup.ts";
import { lives } from "../../sql/write/early-messages.ts";
import { withChecksum, type Sends } from "../write/send.ts";
import { toDue } from "../../sql/script/scope.ts";

/** How many rows one statement moves. */
const BATCH_MAX = 1_000;
/** How long a group of receivers waits for a lock; and how long its halves do. */
const LOCK_MS = 100;
const LOCK_MS_HALVED = 20;
const PARKED = new ColumnArrays({
  checksum: "bigint",
  ...columns("text", "id", "request_id", "name", "data"),
});

export interface OutboxParts {
  readonly instances: Instances;
  readonly sends: Sends;
  readonly notifier: ChangeNotifier;
}

export class Outbox extends Subject {
  readonly #parts: OutboxParts;
  readonly #receiver = this.prepare(`
    SELECT i.status, i.lease_owner, ${TARGET} AS target, r.id IS NOT NULL AS sent, r.digest,
      (SELECT count(*) FROM @kept AS k WHERE k.id = t.id AND ${lives("k", "(SELECT @clock())")}) +
      (SELECT count(*) FROM @arrivals AS a WHERE a.id = t.id) AS waiting
    FROM (SELECT $1::text AS id, $2::text AS request_id) AS t
    LEFT JOIN @instances AS i ON i.id = t.id
    LEFT JOIN @requests AS r ON r.instance = i.key AND r.kind = 'send' AND r.id = t.request_id`);
  readonly #insert = this.prepare(`
    INSERT INTO @arrivals (id, request_id, keep, name, data, checksum, digest, keep_ms)
    VALUES ($1::text, $2::text, $3::boolean, $4::text, $5::text, $6::integer, $7::text, $8::bigint)`);
  readonly #refuse = this.prepare(`
    SELECT @refuse('something has arrived') FROM @arrivals AS a WHERE a.id = ANY ($1::text[]) LIMIT 1`);
  readonly #any = this.prepare("SELECT EXISTS (SELECT 1 FROM @arrivals) AS any");
  readonly #receivers = this.prepare(`
    SELECT DISTINCT a.id FROM (
      SELECT x.id FROM @arrivals AS x WHERE x.id <> ALL ($1::text[])
      ORDER BY x.number LIMIT ${BATCH_MAX}
    ) AS a`);
  readonly #receiversOf = this.prepare(`
    SELECT DISTINCT a.id FROM @arrivals AS a WHERE a.id = ANY ($1::text[])`);
  readonly #take = this.prepare(`
    DELETE FROM @arrivals AS a USING (
      SELECT x.number FROM @arrivals AS x WHERE x.id = ANY ($1::text[])
      ORDER BY x.number + 0 LIMIT ${BATCH_MAX} FOR UPDATE
    ) AS b WHERE ${indexEquals("a.number", "b.number")}
    RETURNING a.number, a.id, a.request_id, a.keep, a.name, a.data,
      a.checksum, a.digest, a.keep_ms`);
  readonly #park = this.prepare(`
    INSERT INTO @inbox (${INBOX_COLUMNS})
    SELECT i.key, i.priority, ${TARGET}, true, (SELECT @clock()), NULL, NULL, 'event', t.name,
      t.request_id, t.data, t.checksum
    FROM ${PARKED.from("t")} JOIN @instances AS i ON ${indexEquals("i.id", "t.id")}
    ORDER BY t.n ${ON_SAME_KEY}`);
  #draining: Promise<void> | null = null;
  #nextDrain: Promise<void> | null = null;

  constructor(connection: Connection, parts: OutboxParts) {
    super(connection);
    this.#parts = parts;
  }

  /**
   * Within a user's transaction (outbox.1). Checks the receiver as it is now; it may still end before the
   * commit.
   */
  async send(
    borrowed: BorrowedTransaction,
    item: SendItem,
    changes: ChangeDraft,
  ): Promise<SimpleResult> {
    const { id, requestId, requestDigest, ifMissing, keepForMs = null, name, data } = item;
    const row = only(await borrowed.ask(this.#receiver, [id, requestId]));
    if (flag(row, "sent")) {
      return repeatedSend(textOrNull(row, "digest"), requestDigest);
    }
    const refusal = refusalOf(row, ifMissing);
    if (refusal !== null) return refusal;
    const { checksum } = withChecksum(item);
    const keep = ifMissing === "keep";
    const digest = requestDigest ?? null;
    const values = [id, requestId, keep, name, data, checksum, digest, keepForMs];
    await borrowed.ask(this.#insert, values);
    if (textOrNull(row, "status") !== null) changes.arrived(id, toDue(row));
    return DONE;
  }

  /** Refuses the transaction if an event waits for one of these ids (outbox.2). */
  refuse(pipeline: Pipeline, ids: readonly string[]): void {
    if (ids.length > 0) pipeline.add(this.#refuse, [texts(ids)]);
  }

  /** Whether any event waits; read the answer with `anyIn`. */
  look(pipeline: Pipeline): Answer {
    return pipeline.add(this.#any);
  }

  /** Moves the events of these receivers into their inboxes, in the order in which they were sent. */
  async drain(statements: Statements, ids: readonly string[], changes: ChangeDraft): Promise<void> {
    if (ids.length === 0) return;
    for (;;) {
      const waiting = await statements.run(this.#receiversOf, [texts(ids)]);
      if (waiting.length === 0) return;
      const receivers = waiting.map((row) => text(row, "id"));
      const pipeline = new Pipeline();
      this.#parts.instances.lock(pipeline, { keys: [], ids: receivers });
      const taken = pipeline.add(this.#take, [texts(receivers)]);
      await statements.all(pipeline);
      const rows = taken.rows.toSorted((a, b) => integer(a, "number") - integer(b, "number"));
      await this.#deliver(statements, rows.map(toItem), changes);
    }
  }

  /** Moves all events into inboxes. A call during a drain waits for one further drain. */
  drainAll(): Promise<void> {
    if (this.#draining === null) {
      this.#draining = this.#drainRounds().finally(() => (this.#draining = null));
      return this.#draining;
    }
    const current = this.#draining;
    this.#nextDrain ??= current
      .catch(() => undefined) // the caller of that drain gets the error
      .then(() => {
        this.#nextDrain = null;
        return this.drainAll();
      });
    return this.#nextDrain;
  }

  /** Drains if any event waits. Call it before reading an inbox. */
  async settle(): Promise<void> {
    if (anyIn(await this.connection.read(this.#any))) await this.drainAll();
  }

  async #drainRounds(): Promise<void> {
    const blocked: string[] = [];
    for (;;) {
      const rows = await this.connection.read(this.#receivers, [texts(blocked)]);
      if (rows.length === 0) return;
      const ids = rows.map((row) => text(row, "id"));
      blocked.push(...(await this.#drainOrHalve(ids, LOCK_MS)));
    }
  }

  /** Drains these receivers and returns those whose rows are locked elsewhere (outbox.4). */
  async #drainOrHalve(ids: readonly string[], lockMs: number): Promise<readonly string[]> {
    const changes = new ChangeDraft();
    try {
      await this.connection.transact({ lockMs }, (statements) =>
        this.drain(statements, ids, changes),
      );
    } catch (error) {
      if (!isBusy(error)) return withPerdureErrors(Promise.reject(error));
      if (ids.length === 1) return ids;
      const middle = ids.length >> 1;
      const first = await this.#drainOrHalve(ids.slice(0, middle), LOCK_MS_HALVED);
      return [...first, ...(await this.#drainOrHalve(ids.slice(middle), LOCK_MS_HALVED))];
    }
    this.#parts.notifier.publish(changes);
    return [];
  }

  async #deliver(
    statements: Statements,
    items: readonly ChecksummedSend[],
    changes: ChangeDraft,
  ): Promise<void> {
    const { instances, sends } = this.#parts;
    const pipeline = new Pipeline();
    const ids = new Set(items.map(({ id }) => id));
    instances.lock(pipeline, { keys: [], ids: [...ids] }); // some may have been inserted since `drain` (postgres.instances.2)
    const read = sends.send(pipeline, items, changes);
    await statements.all(pipeline);
    const results = read();
    const unread: ChecksummedSend[] = [];
    for (const [index, item] of items.entries()) {
      const result = results[index] ?? null;
      if (result?.kind === "refused") unread.push(item); // outbox.3
      if (result !== null || item.ifMissing === "fail") continue;
      // Null again: the receiver was started meanwhile, so a normal send works.
      if ((await sends.sendToMissing(statements, item)) === null) {
        await this.#deliver(statements, [item], changes);
      }
    }
    if (unread.length === 0) return;
    const rows = unread.map((item) => ({ ...item, request_id: item.requestId }));
    await statements.run(this.#park, PARKED.values(rows));
  }
}

/** Reads the answer to `look`. */
export function anyIn(rows: readonly Row[]): boolean {
  return flag(only(rows), "any");
}

function refusalOf(row: Row, ifMissing: SendItem["ifMissing"]): SimpleResult | null {
  const status = toStatus(row);
  if (status !== null) return isTerminalStatus(status) ? FINISHED : null;
  if (ifMissing === "fail") return NOT_FOUND;
  return integer(row, "waiting") >= EARLY_MESSAGES_MAX ? LIMIT_EXCEEDED : null;
}

function toItem(row: Row): ChecksummedSend {
  const digest = textOrNull(row, "digest");
  const keepForMs = integerOrNull(row, "keep_ms");
  return {
    kind: "send",
    id: text(row, "id"),
    requestId: text(row, "request_id"),
    ...(digest === null ? {} : { requestDigest: digest }),
    ifMissing: flag(row, "keep") ? "keep" : "fail",
    ...(keepForMs === null ? {} : { keepForMs }),
    name: text(row, "name"),
    data: text(row, "data"),
    checksum: integerOrNull(row, "checksum"),
  };
}
