// Asks: requests to instances, and the events that are written together with them (provider.asks).
//   - A group with asks or dispatched items writes its sends here too, so that requests and events of one sender
//     stay in the order in which they were sent (P7). A group of sends alone is written by send.ts.
//   - A repeated request id sends nothing and returns the stored answer (provider.asks.2).
//   - postgres.asks.1: The batch assumes that every dispatched item is accepted. If one is not, it refuses the
//     transaction, and the stepwise mode decides (dispatches.ts).
//   - postgres.asks.2: The request id of a send with `hasOwnId` is not recorded (provider.asks.6). The message in the
//     inbox shows instead that it was written: its receiver is locked, so no turn can have consumed it.
//   - A receiver that the transaction has not locked counts as missing (postgres.instances.2): the caller writes the item
//     again.
//   - An ask whose receiver is missing, or has ended and must be restarted, is left over: the caller starts the
//     receiver in the same transaction and writes the ask again (commit.ts).

import type { AskItem, AskResult } from "../../core/provider/asks.ts";
import type { CommitItem, SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { requestMessageKey } from "../../core/ids/request-messages.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { EXISTS, FINISHED } from "../../core/provider/results.ts";
import { isForOther, repeatedAsk } from "../../core/provider/shared/asks.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import { flag, integer, text, textOrNull, type Row } from "../../sql/columns.ts";
import { exists, indexEquals } from "../../sql/index-lookup.ts";
import { toStatus } from "../../sql/rows/instance-rows.ts";
import { toStoredAsk } from "../../sql/rows/requests.ts";
import { Subject } from "../connection/subject.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import { IS_LOCKED } from "../read/instances.ts";
import { messageChecksum } from "../read/messages.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import { IS_LIVE } from "./delivery.ts";
import { addDueEvents, putEvents, Receivers, requestOf } from "./send.ts";

/** An item that becomes an event in an inbox. */
export type EventItem = SendItem | AskItem;

/** A dispatched send with `hasOwnId` (postgres.asks.2). */
export interface UnrecordedSend extends SendItem {
  readonly hasOwnId: true;
}

export function isUnrecorded(item: CommitItem): item is UnrecordedSend {
  return item.kind === "send" && "hasOwnId" in item;
}

interface EventItems {
  /** Items with results. */
  readonly submitted: readonly EventItem[];
  /** Items of turns (postgres.asks.1). */
  readonly dispatched: readonly EventItem[];
}

const EVENTS = new ColumnArrays({
  ...columns("bigint", "checksum", "receiver"),
  ...columns("text", "id", "kind", "request_id", "digest", "asker", "start", "name", "key", "data"),
});
/** The kind of a row `t` without a request id (postgres.asks.2). The kinds of the others are those of `requests`. */
const UNRECORDED = "unrecorded";
const IS_UNRECORDED = `t.kind = '${UNRECORDED}'`;
const REQUEST = requestOf(
  "t.kind",
  "x.id, x.digest, x.batch, x.outcome, x.execution, x.answer, x.answer_checksum",
  `NOT ${IS_UNRECORDED}`,
);
/**
 * SQL: the message of a row without a request id is in the inbox (postgres.asks.2). The kind is
 * a subquery and not a constant, so that PostgreSQL looks up the key instead of reading all events of the instance
 * (index-lookup.1).
 */
const IS_PUT = `(${IS_UNRECORDED} AND ${IS_LIVE} AND ${exists(`
  FROM @inbox AS m WHERE m.instance = i.key AND m.kind = (SELECT 'event'::text) AND m.key = t.key`)})`;
/** SQL: the instance belongs to the orchestration that the item would start, if any (provider.asks.5). */
const IS_MEANT = "(t.start IS NULL OR t.start = i.name)";
const WITH_REQUEST = `
  LEFT JOIN @instances AS i ON ${indexEquals("i.id", "t.id")}
  LEFT JOIN LATERAL (${REQUEST}) AS r ON true`;

export class Asks extends Subject {
  readonly #record = this.prepare(`
    INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest, asker)
    SELECT i.key, i.execution, (SELECT @clock()), $1::bigint, t.kind, t.request_id,
      CASE WHEN t.kind = 'ask' THEN 'asked' ELSE 'done' END, t.digest, t.asker
    FROM ${EVENTS.from("t", 2)} JOIN @instances AS i ON ${indexEquals("i.id", "t.id")}
    WHERE ${IS_LIVE} AND ${IS_LOCKED} AND ${IS_MEANT} AND NOT ${IS_UNRECORDED}
    ORDER BY t.n -- of two items with one request id in a group, the first is recorded and delivered
    ON CONFLICT DO NOTHING`);
  readonly #put = this.prepare(
    putEvents(EVENTS.from("t", 2), {
      request: REQUEST,
      key: "t.key",
      unrecorded: `${IS_UNRECORDED} AND ${IS_LIVE} AND ${IS_LOCKED}`,
      receivers: 2 + EVENTS.width,
    }),
  );
  readonly #select = this.prepare(`
    SELECT i.key, i.name, i.status, r.id IS NOT NULL OR ${IS_PUT} IS TRUE AS sent, r.digest, r.outcome, r.execution, r.answer,
      r.answer_checksum
    FROM ${EVENTS.from("t")} ${WITH_REQUEST} ORDER BY t.n`);
  readonly #refuse = this.prepare(`
    SELECT @refuse('a dispatched item is not accepted') FROM ${EVENTS.from("t")} ${WITH_REQUEST}
    WHERE (r.id IS NULL AND ${IS_PUT} IS NOT TRUE) OR r.digest <> t.digest OR r.outcome = 'finished'
      OR (r.outcome = 'asked' AND NOT ${IS_LIVE}) LIMIT 1`);

  /**
   * Call the returned function after the pipeline has run: it returns the results of the submitted items, in
   * their order. Null: the item is left over.
   */
  write(
    pipeline: Pipeline,
    { submitted, dispatched }: EventItems,
    changes: ChangeDraft,
  ): () => (SimpleResult | AskResult | null)[] {
    const number = this.connection.randomInteger();
    const receivers = new Receivers();
    const rows = [...submitted, ...dispatched].map((item) => ({
      ...toColumns(item),
      receiver: receivers.numberOf(item.id),
    }));
    const values = EVENTS.values(rows);
    const isRecorded = rows.some(({ kind }) => kind !== UNRECORDED);
    if (isRecorded) pipeline.add(this.#record, [number, ...values]);
    const put = pipeline.add(this.#put, [number, ...values, receivers.ids()]);
    const selected =
      submitted.length === 0
        ? null
        : pipeline.add(this.#select, EVENTS.values(rows.slice(0, submitted.length)));
    if (dispatched.length > 0) {
      pipeline.add(this.#refuse, EVENTS.values(rows.slice(submitted.length)));
    }
    return () => {
      addDueEvents(put.rows, rows, changes);
      return submitted.map((item, index) => resultOf(item, selected?.rows[index]));
    };
  }
}

function resultOf(item: EventItem, row: Row | undefined): SimpleResult | AskResult | null {
  const status = row === undefined ? null : toStatus(row);
  if (row === undefined || status === null) return null;
  const hasEnded = isTerminalStatus(status);
  if (flag(row, "sent")) {
    if (item.kind === "send") return repeatedSend(textOrNull(row, "digest"), item.requestDigest);
    return repeatedAsk(
      { key: integer(row, "key"), hasEnded },
      toStoredAsk(row),
      item.requestDigest,
    );
  }
  if (item.kind === "ask" && isForOther(item, text(row, "name"))) return EXISTS;
  const mustRestart = item.kind === "ask" && item.start?.onConflict === "restart";
  // A live receiver without the request row was inserted after the lock (postgres.instances.2); try again.
  return hasEnded && !mustRestart ? FINISHED : null;
}

function toColumns(item: EventItem) {
  const { id, name, data, requestId: request_id, requestDigest: digest = null } = item;
  const kind = isUnrecorded(item) ? UNRECORDED : item.kind;
  const asker = item.kind === "ask" && item.asker !== null ? JSON.stringify(item.asker) : null;
  const start = item.kind === "ask" && item.start !== null ? item.start.name : null;
  const key = item.kind === "ask" ? requestMessageKey(request_id) : request_id;
  const checksum = messageChecksum({ sequence: null, kind: "event", name, key, data });
  return { checksum, id, kind, request_id, digest, asker, start, name, key, data };
}
