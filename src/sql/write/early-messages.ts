// Early messages: events that were sent to an id before an instance with that id exists (semantics 18a).
//   - A request id is stored once. A message older than EARLY_MESSAGE_MS is ignored.
//   - Each store writes them and hands them over itself (write/early-messages.ts of the stores).

import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { EARLY_MESSAGE_MS } from "../../core/provider/shared/early-messages.ts";
import { repeatedSend } from "../../core/provider/shared/requests.ts";
import { textOrNull } from "../columns.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const SELECT = new Statement(`
  SELECT digest FROM @kept
  WHERE id = $1 AND key = $2 AND created_at > @now - ${EARLY_MESSAGE_MS}`);

/** The result of the first send with this request id; null: there was none. */
export function* findEarlyMessage(item: SendItem): Script<SimpleResult | null> {
  const row = yield* first(SELECT, item.id, item.requestId);
  return row === undefined ? null : repeatedSend(textOrNull(row, "digest"), item.requestDigest);
}
