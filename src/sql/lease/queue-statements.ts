// Queue statements: the waiting tasks of one part of a queue, in order and by key.
//   - $1 to $4 name the part: whether suspect, name, tags, priority. The stores keep tags in different columns, and scan
//     the parts differently.
//   - The statements about a key must not use the index of the plain queue: it has their order too, and
//     would be read past the tasks of all other keys. NO_SESSION does not match the condition of that index.

import { Statement } from "../script/statement.ts";

export interface QueueStatements {
  /** The parts of a queue. $1: whether suspect; $2: its name. Returns tag_set, tags, priority. */
  readonly queueParts: Statement;
  /** The first due tasks of a part. $5 and $6: the worker, and how long it leaves its failed tasks to others; $7: limit. */
  readonly queueFront: Statement;
  /** The same of one key, $8. */
  readonly queueOfKey: Statement;
  /** Keys of waiting tasks of a part, after the key $5, in order. $6: limit. */
  readonly queueKeys: Statement;
  /** The first due task of each of the keys $5: queue_key, head_at, weight. */
  readonly queueHeads: Statement;
  /** Deferred tasks of the queue $1 that are due and hold their slots. $2: limit. */
  readonly queueDeferred: Statement;
}

/** What differs between the stores. */
interface StoreTexts {
  /** The column that is equal for equal sets of tags. */
  readonly tags: "tags" | "tag_set";
  /** SQL of the tags of a task `r`, as JSON text. */
  readonly tagsText: string;
  readonly queueParts: string;
}

/** index-lookup: no task has an empty session. */
const NO_SESSION = "coalesce(r.session, '') = ''";
const ORDER = "ORDER BY r.available_at, r.instance, r.execution, r.sequence";
const COLUMNS =
  "r.instance, r.execution, r.sequence, r.available_at, r.queue_key, r.weight, r.holds_slot, r.deaths";
const IS_DUE = "r.available_at <= @now AND NOT r.holds_slot";
const NOT_AVOIDED = "(r.avoid = $5 AND r.available_at > @now - $6::bigint) IS NOT TRUE";

export function queueStatements(store: StoreTexts): QueueStatements {
  const { tags, tagsText } = store;
  const inPart = `
    r.lease_owner IS NULL AND r.suspect = $1::boolean AND r.name = $2 AND r.${tags} = $3
    AND r.priority = $4::double precision`;
  const keyAfter = (key: string): string => `(
    SELECT r.queue_key FROM @tasks AS r
    WHERE ${inPart} AND r.queue_key IS NOT NULL AND r.queue_key > ${key}
    ORDER BY r.queue_key LIMIT 1)`;
  const ofKey = `
    FROM @tasks AS r WHERE ${inPart} AND ${NO_SESSION} AND ${IS_DUE} AND r.queue_key = k.key`;
  return {
    queueParts: new Statement(store.queueParts),
    queueFront: new Statement(`
      SELECT ${COLUMNS}, false AS is_deferred FROM @tasks AS r
      WHERE ${inPart} AND r.session IS NULL AND ${IS_DUE} AND ${NOT_AVOIDED} ${ORDER}
      LIMIT $7::bigint`),
    queueOfKey: new Statement(`
      SELECT ${COLUMNS}, false AS is_deferred FROM @tasks AS r
      WHERE ${inPart} AND ${NO_SESSION} AND ${IS_DUE} AND ${NOT_AVOIDED} AND r.queue_key = $8
      ${ORDER} LIMIT $7::bigint`),
    // A loose index scan. Its first step has its own bound: with two bounds, SQLite would use the first one each time.
    queueKeys: new Statement(`
      WITH RECURSIVE keys (queue_key) AS (
        SELECT ${keyAfter("$5")}
        UNION ALL SELECT ${keyAfter("keys.queue_key")} FROM keys WHERE keys.queue_key IS NOT NULL
      ) SELECT keys.queue_key FROM keys WHERE keys.queue_key IS NOT NULL LIMIT $6::bigint`),
    queueHeads: new Statement(`
      SELECT k.key AS queue_key, (SELECT r.available_at ${ofKey} ${ORDER} LIMIT 1) AS head_at,
        (SELECT r.weight ${ofKey} ${ORDER} LIMIT 1) AS weight
      FROM unnest($5::text[]) AS k (key)`),
    queueDeferred: new Statement(`
      SELECT ${COLUMNS}, true AS is_deferred, r.suspect, r.priority, r.${tags} AS tag_set,
        ${tagsText} AS tags
      FROM @tasks AS r
      WHERE r.name = $1 AND r.holds_slot AND r.lease_owner IS NULL AND r.session IS NULL
        AND r.available_at <= @now
      ORDER BY r.available_at LIMIT $2::bigint`),
  };
}
