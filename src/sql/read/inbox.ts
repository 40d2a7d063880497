// Inbox: reads of the messages of one instance.

import type { EventsPage, EventsRequest, Message } from "../../core/provider/messages.ts";
import { integer, type Row } from "../columns.ts";
import { exists, indexEquals } from "../index-lookup.ts";
import type { ReadParts } from "../parts.ts";
import { IN_ORDER, MESSAGE_COLUMNS, toMessage } from "../rows/messages.ts";
import { TARGET } from "../rows/instance-rows.ts";
import { first, run, type Script } from "../script/script.ts";
import { call, Statement, type Call } from "../script/statement.ts";

const HAS_DUE = new Statement(`
  SELECT i.id, i.lease_owner, ${TARGET} AS target
  FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${indexEquals("i.key", "k.key")}
  WHERE ${exists(`
    FROM @inbox AS m
    WHERE m.instance = i.key AND m.parked = false AND m.visible_at <= @now`)}`);
const SELECT_START = new Statement(`
  SELECT ${MESSAGE_COLUMNS} FROM @inbox AS m
  WHERE m.instance = $1 AND m.parked = false AND m.kind = 'start'`);
const SELECT_BY_KEY = new Statement(`
  SELECT ${MESSAGE_COLUMNS} FROM @inbox AS m
  WHERE m.instance = $1 AND m.kind = $2 AND m.key = $3`);
const SELECT_ALL = new Statement(`
  SELECT ${MESSAGE_COLUMNS} FROM @inbox AS m WHERE m.instance = $1 ORDER BY ${IN_ORDER}`);
const SELECT_EVENTS = new Statement(`
  WITH sized AS (
    SELECT id, row_number() OVER (ORDER BY id) AS n,
      sum(bytes) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
    FROM (
      SELECT id, octet_length(data) AS bytes FROM @inbox
      WHERE instance = $1 AND kind = 'event' AND id > $2 ORDER BY id LIMIT $3::bigint + 1) AS e
  )
  SELECT ${MESSAGE_COLUMNS}, (SELECT count(*) FROM sized) AS sized
  FROM sized AS s JOIN @inbox AS m ON ${indexEquals("m.id", "s.id")}
  WHERE s.n = 1 OR (s.n <= $3::bigint AND s.total <= $4::bigint) ORDER BY s.n`);

/** Its rows name the instances with a due message: id, lease_owner, target (`addDue`). */
export function hasDue(...instances: readonly number[]): Call {
  return call(HAS_DUE, instances);
}

export class InboxReads {
  readonly #toMessage: (row: Row) => Message;

  constructor({ coveredOf }: Pick<ReadParts, "coveredOf">) {
    this.#toMessage = (row) => toMessage(row, coveredOf);
  }

  *read(instance: number): Script<readonly Message[]> {
    return (yield* run(SELECT_ALL, instance)).map(this.#toMessage);
  }

  *readEvents({ key, after, limit, bytesMax }: EventsRequest): Script<EventsPage> {
    const from = after ?? Number.MIN_SAFE_INTEGER;
    const rows = yield* run(SELECT_EVENTS, key, from, limit, bytesMax);
    const more = rows[0] !== undefined && integer(rows[0], "sized") > rows.length;
    return { messages: rows.map(this.#toMessage), more };
  }

  /** The start message, if no turn has consumed it yet. */
  *findStart(instance: number): Script<Message | null> {
    const row = yield* first(SELECT_START, instance);
    return row === undefined ? null : this.#toMessage(row);
  }

  /** The message of that kind with that key, if no turn has consumed it yet. */
  *find(instance: number, kind: Message["kind"], key: string): Script<Message | null> {
    const row = yield* first(SELECT_BY_KEY, instance, kind, key);
    return row === undefined ? null : this.#toMessage(row);
  }
}
