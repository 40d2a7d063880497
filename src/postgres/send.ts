// Send: events from outside.
//   S1. A request id is recorded with its message; the same id again sends nothing (I14), and for another request it is
//       refused.
//   S2. What is sent to an id that does not exist is refused, or kept if the sender asked for that (P4).
//   S3. A sender is refused what cannot arrive.

import type { SendItem, SimpleResult } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import { DONE, FINISHED, isOtherRequest, KEY_REUSED, NOT_FOUND } from "../core/provider/results.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { flag, textOrNull } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { LIVES, putAndTell, tellDue, visibleAt } from "./delivery.ts";
import { INBOX_COLUMNS, ofReceiver, ON_SAME_KEY } from "./inbox.ts";
import { toStatus } from "./instance-rows.ts";
import type { KeptMessages, SummedSend } from "./kept.ts";
import { messageChecksum } from "./messages.ts";
import type { NewsDraft } from "./news.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";

const SENDS = new ColumnArrays({
  checksum: "bigint",
  id: "text",
  request_id: "text",
  digest: "text",
  name: "text",
  data: "text",
});
const IS_REQUEST = `${probe("r.instance", "i.key")} AND r.kind = 'send' AND r.id = t.request_id`;

export class Sends {
  readonly #connection: Connection;
  readonly #kept: KeptMessages;
  readonly #record: Statement;
  readonly #put: Statement;
  readonly #select: Statement;

  constructor(connection: Connection, kept: KeptMessages) {
    this.#connection = connection;
    this.#kept = kept;
    this.#record = connection.prepare(`
      INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
      SELECT i.key, i.execution, (SELECT @clock()), $1::bigint, 'send', t.request_id, 'done', t.digest
      FROM ${SENDS.from("t", 2)} JOIN @instances AS i ON ${probe("i.id", "t.id")} WHERE ${LIVES}
      ORDER BY t.n -- of two with one id in a group, the first is recorded, and its message put below
      ON CONFLICT DO NOTHING`);
    this.#put = connection.prepare(
      putAndTell(`
        INSERT INTO @inbox (${INBOX_COLUMNS})
        SELECT ${ofReceiver("'event'")}, ${visibleAt("'event'")}, NULL, NULL, 'event', t.name, t.request_id,
          t.data, t.checksum
        FROM ${SENDS.from("t", 2)} JOIN @instances AS i ON ${probe("i.id", "t.id")}
        JOIN @requests AS r ON ${IS_REQUEST} AND r.batch = $1::bigint
        ORDER BY t.n ${ON_SAME_KEY}`),
    );
    this.#select = connection.prepare(`
      SELECT i.status, r.id IS NOT NULL AS sent, r.digest FROM ${SENDS.from("t")}
      LEFT JOIN @instances AS i ON ${probe("i.id", "t.id")} LEFT JOIN @requests AS r ON ${IS_REQUEST}
      ORDER BY t.n`);
  }

  /** What is returned reads the results, in order, when the answer is there; null: its id does not exist. */
  send(
    pipeline: Pipeline,
    items: readonly SendItem[],
    news: NewsDraft,
  ): () => (SimpleResult | null)[] {
    const number = this.#connection.draw();
    const values = SENDS.values(
      items.map((item) => ({
        ...summed(item),
        request_id: item.requestId,
        digest: item.requestDigest ?? null,
      })),
    );
    pipeline.add(this.#record, [number, ...values]);
    const put = pipeline.add(this.#put, [number, ...values]);
    const selected = pipeline.add(this.#select, values);
    return () => {
      tellDue(put, news);
      return selected.rows.map((row, index) => {
        if (flag(row, "sent")) {
          const isOther = isOtherRequest(textOrNull(row, "digest"), items[index]?.requestDigest);
          return isOther ? KEY_REUSED : DONE;
        }
        const status = toStatus(row);
        // One that lives and was not sent to was born since: where the message was put, it did not exist.
        return status !== null && isTerminalStatus(status) ? FINISHED : null;
      });
    };
  }

  /** To an id that did not exist; null: it does by now. */
  async sendToMissing(statements: Statements, item: SendItem): Promise<SimpleResult | null> {
    if (item.ifMissing === "keep") return this.#kept.keep(statements, summed(item));
    return (await this.#kept.find(statements, item)) ?? NOT_FOUND;
  }
}

/** What arrived by a user's transaction has one already, and keeps it, be it right or wrong. */
export function summed(item: SendItem | SummedSend): SummedSend {
  if ("checksum" in item) return item;
  const { name, data, requestId: key } = item;
  return { ...item, checksum: messageChecksum({ sequence: null, kind: "event", name, key, data }) };
}
