// Send: events from outside.
//   - A request id is recorded with its message. A repeated id sends nothing (I14); with another request it
//     is refused.
//   - A send to an id that does not exist is refused, or stored for a later instance if the sender asked
//     for that (P4).
//   - A send that cannot be delivered is refused.
//   - postgres.send.1: Many events of a group may have the same receiver. What its inbox holds is looked up once per
//     statement, not once per event, because a lookup also reads the entries of events that were deleted and not
//     vacuumed yet. For the same reason, only an event that is the single one of its receiver is compared with the
//     other messages in the inbox (`is_only`).
//   - A receiver that the transaction has not locked counts as missing (postgres.instances.2): the caller sends again.

import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import type { Message } from "../../core/provider/messages.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import { FINISHED, NOT_FOUND } from "../../core/provider/results.ts";
import { ColumnArrays, texts } from "../sql/column-arrays.ts";
import { flag, integer, integerOrNull, text, textOrNull, type Row } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { IS_LIVE, visibleAt } from "./delivery.ts";
import { HAS_EVENT, INBOX_COLUMNS, ON_SAME_KEY } from "../read/inbox.ts";
import { IS_LOCKED } from "../read/instances.ts";
import { TARGET, toStatus } from "../../sql/rows/instance-rows.ts";
import { toDue } from "../../sql/script/scope.ts";
import { findEarlyMessage } from "../../sql/write/early-messages.ts";
import type { EarlyMessages, ChecksummedSend } from "./early-messages.ts";
import { messageChecksum } from "../read/messages.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import type { Pipeline, Value } from "../connection/pipeline.ts";
import { indexEquals, notExists } from "../../sql/index-lookup.ts";

const SENDS = new ColumnArrays({
  checksum: "bigint",
  receiver: "bigint",
  id: "text",
  request_id: "text",
  digest: "text",
  name: "text",
  data: "text",
});
const REQUEST = requestOf("'send'", "x.id, x.digest, x.batch");

export class Sends extends Subject {
  readonly #earlyMessages: EarlyMessages;
  readonly #record = this.prepare(`
    INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
    SELECT i.key, i.execution, (SELECT @clock()), $1::bigint, 'send', t.request_id, 'done', t.digest
    FROM ${SENDS.from("t", 2)} JOIN @instances AS i ON ${indexEquals("i.id", "t.id")}
    WHERE ${IS_LIVE} AND ${IS_LOCKED}
    ORDER BY t.n -- of two sends with one request id in a group, the first is recorded and delivered
    ON CONFLICT DO NOTHING`);
  readonly #put = this.prepare(
    putEvents(SENDS.from("t", 2), {
      request: REQUEST,
      key: "t.request_id",
      receivers: 2 + SENDS.width,
    }),
  );
  readonly #select = this.prepare(`
    SELECT i.status, r.id IS NOT NULL AS sent, r.digest FROM ${SENDS.from("t")}
    LEFT JOIN @instances AS i ON ${indexEquals("i.id", "t.id")} LEFT JOIN LATERAL (${REQUEST}) AS r ON true
    ORDER BY t.n`);

  constructor(connection: Connection, earlyMessages: EarlyMessages) {
    super(connection);
    this.#earlyMessages = earlyMessages;
  }

  /**
   * Call the returned function after the pipeline has run: it returns the results in the order of the items.
   * Null: the receiver does not exist. The receivers must be locked in the same transaction (Instances.lock).
   */
  send(
    pipeline: Pipeline,
    items: readonly SendItem[],
    changes: ChangeDraft,
  ): () => (SimpleResult | null)[] {
    const number = this.connection.randomInteger();
    const receivers = new Receivers();
    const values = SENDS.values(
      items.map((item) => ({
        ...withChecksum(item),
        receiver: receivers.numberOf(item.id),
        request_id: item.requestId,
        digest: item.requestDigest ?? null,
      })),
    );
    pipeline.add(this.#record, [number, ...values]);
    const put = pipeline.add(this.#put, [number, ...values, receivers.ids()]);
    const selected = pipeline.add(this.#select, values);
    return () => {
      addDueEvents(put.rows, items.map(toEvent), changes);
      return selected.rows.map((row, index) => {
        if (flag(row, "sent")) {
          return repeatedSend(textOrNull(row, "digest"), items[index]?.requestDigest);
        }
        const status = toStatus(row);
        // A live receiver without the request row was inserted after the lock (postgres.instances.2); try again.
        return status !== null && isTerminalStatus(status) ? FINISHED : null;
      });
    };
  }

  /** For an id that did not exist. Null: it exists by now. */
  async sendToMissing(statements: Statements, item: SendItem): Promise<SimpleResult | null> {
    if (item.ifMissing === "keep") return this.#earlyMessages.keep(statements, withChecksum(item));
    return (await statements.script(findEarlyMessage(item))) ?? NOT_FOUND;
  }
}

/**
 * SQL of the request of `t` to the instance `i`, as a separate lookup: every send has the kind (index-lookup.2). If
 * the condition on `t` is false, nothing is looked up.
 */
export function requestOf(kind: string, columns: string, condition = "true"): string {
  return `
  SELECT ${columns} FROM @requests AS x
  WHERE ${condition} AND x.instance = i.key AND x.kind = ${kind} AND x.id = t.request_id OFFSET 0`;
}

/** The distinct receivers of the events of a statement, numbered from 1 (postgres.send.1). */
export class Receivers {
  readonly #numbers = new Map<string, number>();

  numberOf(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    const number = this.#numbers.size + 1;
    this.#numbers.set(id, number);
    return number;
  }

  ids(): Value {
    return texts([...this.#numbers.keys()]);
  }
}

/**
 * SQL of a value of the instance `i`, computed once per receiver of the parameter and read by `t.receiver`. Each
 * instance is a separate lookup (index-lookup.1).
 */
function perReceiver(value: string, parameter: number): string {
  return `(
    SELECT array_agg(${value} ORDER BY d.n)
    FROM unnest($${parameter}::text[]) WITH ORDINALITY AS d (id, n)
    LEFT JOIN LATERAL (
      SELECT x.key, x.last_event FROM @instances AS x WHERE x.id = d.id OFFSET 0) AS i ON true
  )[t.receiver]`;
}

interface PutEvents {
  /** SQL of the request of a row. */
  readonly request: string;
  /** SQL of the key of a row's message. */
  readonly key: string;
  /** SQL condition: the event is put without a request. */
  readonly unrecorded?: string;
  /** The number of the parameter with the receivers. */
  readonly receivers: number;
}

/**
 * SQL that puts the events of the rows `t` into inboxes, if the batch $1 has recorded their requests or `unrecorded`
 * is true. It returns the events that are due; `addDueEvents` reads them.
 */
export function putEvents(
  rows: string,
  { request, key, unrecorded = "false", receivers }: PutEvents,
): string {
  return `
    WITH put AS (
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT i.key, i.priority, ${TARGET}, ${perReceiver(HAS_EVENT, receivers)},
        ${perReceiver(visibleAt("'event'"), receivers)}, NULL, NULL, 'event', t.name, ${key},
        t.data, t.checksum
      FROM ${rows} JOIN @instances AS i ON ${indexEquals("i.id", "t.id")}
      LEFT JOIN LATERAL (${request}) AS r ON true
      WHERE r.batch = $1::bigint OR (${unrecorded})
      ORDER BY t.n ${ON_SAME_KEY} RETURNING id, instance, visible_at, parked, key
    )
    SELECT i.id, i.lease_owner, ${TARGET} AS target, i.last_commit, p.id AS message_id, p.visible_at, p.key,
      CASE WHEN NOT p.parked AND count(*) OVER (PARTITION BY p.instance) = 1 THEN ${notExists(`
        FROM @inbox AS o WHERE o.instance = p.instance AND o.visible_at <= p.visible_at`)}
        ELSE false END AS is_only
    FROM put AS p JOIN @instances AS i ON ${indexEquals("i.key", "p.instance")}
    WHERE p.visible_at <= (SELECT @clock())`;
}

/** An event as it was sent. */
export type SentEvent = Pick<Message, "name" | "data"> & {
  readonly id: string;
  readonly key: string;
};

/**
 * Adds the receivers that are due, each with its event if that is its only due message. Null: an event from the
 * outbox, which is left out, because its reader must compare the checksum.
 */
export function addDueEvents(
  rows: readonly Row[],
  events: readonly (SentEvent | null)[],
  changes: ChangeDraft,
): void {
  const byKey = new Map(
    events.toReversed().flatMap((event) => (event === null ? [] : [[event.key, event]])),
  );
  const counts = new Map<string, number>();
  for (const row of rows) {
    const id = text(row, "id");
    changes.due(id, toDue(row));
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  for (const row of rows) {
    const id = text(row, "id");
    const event = byKey.get(text(row, "key"));
    const lastCommit = integerOrNull(row, "last_commit");
    if (!flag(row, "is_only") || counts.get(id) !== 1 || lastCommit === null) continue;
    if (event?.id !== id) continue;
    changes.dueEvent(id, { message: toMessage(row, event), lastCommit });
  }
}

function toEvent(item: SendItem): SentEvent | null {
  const { id, name, data, requestId: key } = item;
  return "checksum" in item ? null : { id, name, data, key };
}

function toMessage(row: Row, { name, data, key }: SentEvent): Message {
  const id = integer(row, "message_id");
  const visibleAt = integer(row, "visible_at");
  return { id, kind: "event", execution: null, sequence: null, name, data, key, visibleAt };
}

/**
 * Adds the checksum. An event from the outbox keeps the one it has, so that damage there stays detectable.
 */
export function withChecksum(item: SendItem | ChecksummedSend): ChecksummedSend {
  if ("checksum" in item) return item;
  const { name, data, requestId: key } = item;
  return { ...item, checksum: messageChecksum({ sequence: null, kind: "event", name, key, data }) };
}
