// Early messages: events that were sent to an id before an instance with that id exists (semantics 18a).
//   - A request id is stored once. An expired message is ignored (kept.1).
//   - Each store writes them and hands them over itself (write/early-messages.ts of the stores).
//   - `admin/kept-expiry.ts` marks expired messages. Until then they are expired by their time alone.

import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import { textOrNull } from "../columns.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

/**
 * SQL: whether a row of `kept` can still be delivered. A marked row has no data, so it stays expired if the
 * clock is set back. As a CASE, the condition cannot be answered by an index: PostgreSQL must find the rows by
 * their ids.
 */
export function lives(row: string, now: string): string {
  return `CASE WHEN ${row}.expired_at IS NULL THEN ${row}.expires_at > ${now} ELSE false END`;
}

const SELECT = new Statement(`
  SELECT digest FROM @kept AS k WHERE k.id = $1 AND k.key = $2 AND ${lives("k", "@now")}`);

/** The result of the first send with this request id; null: there was none. */
export function* findEarlyMessage(item: SendItem): Script<SimpleResult | null> {
  const row = yield* first(SELECT, item.id, item.requestId);
  return row === undefined ? null : repeatedSend(textOrNull(row, "digest"), item.requestDigest);
}
