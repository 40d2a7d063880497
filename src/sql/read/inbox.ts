// Inbox: reads of the messages of one instance.

import type { StepOutcomeItem } from "../../core/provider/commit.ts";
import type { EventsPage, EventsRequest, Message } from "../../core/provider/messages.ts";
import { stepKey } from "../../core/provider/shared/message-keys.ts";
import { integer } from "../columns.ts";
import { exists, indexEquals } from "../index-lookup.ts";
import type { ReadParts } from "../parts.ts";
import { IN_ORDER, MESSAGE_COLUMNS, toMessage } from "../rows/messages.ts";
import { TARGET } from "../rows/instance-rows.ts";
import { first, run, type Script } from "../script/script.ts";
import { call, Statement, type Call } from "../script/statement.ts";

/** The instances of a list that have a due message: id, lease_owner, target (`addDue`). */
export const HAS_DUE = new Statement(`
  SELECT i.id, i.lease_owner, ${TARGET} AS target
  FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${indexEquals("i.key", "k.key")}
  WHERE ${exists(`
    FROM @inbox AS m
    WHERE m.instance = i.key AND m.parked = false AND m.visible_at <= @now`)}`);
const SELECT_START = new Statement(`
  SELECT ${MESSAGE_COLUMNS} FROM @inbox AS m
  WHERE m.instance = $1 AND m.parked = false AND m.kind = 'start'`);
const SELECT_STEP = new Statement(`
  SELECT ${MESSAGE_COLUMNS} FROM @inbox AS m
  WHERE m.instance = $1 AND m.kind = 'step' AND m.key = $2`);
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

/** Its rows are those of HAS_DUE. */
export function hasDue(...instances: readonly number[]): Call {
  return call(HAS_DUE, instances);
}

export function* readInbox(key: number, { coveredOf }: ReadParts): Script<readonly Message[]> {
  return (yield* run(SELECT_ALL, key)).map((row) => toMessage(row, coveredOf));
}

export function* readEvents(
  { key, after, limit, bytesMax }: EventsRequest,
  { coveredOf }: ReadParts,
): Script<EventsPage> {
  const from = after ?? Number.MIN_SAFE_INTEGER;
  const rows = yield* run(SELECT_EVENTS, key, from, limit, bytesMax);
  const more = rows[0] !== undefined && integer(rows[0], "sized") > rows.length;
  return { messages: rows.map((row) => toMessage(row, coveredOf)), more };
}

/** The start message, if no turn has consumed it yet. */
export function* findStart(key: number, { coveredOf }: ReadParts): Script<Message | null> {
  const row = yield* first(SELECT_START, key);
  return row === undefined ? null : toMessage(row, coveredOf);
}

/** The outcome of the step, if no turn has consumed it yet. */
export function* findStep(item: StepOutcomeItem, { coveredOf }: ReadParts): Script<Message | null> {
  const row = yield* first(SELECT_STEP, item.key, stepKey(item));
  return row === undefined ? null : toMessage(row, coveredOf);
}
