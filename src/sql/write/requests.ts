// Requests: the request ids of calls, and the result of each.
//   - A row is written together with the effect of its call, and lives as long as its instance (semantics
//     18a; requests.1 is the exception).
//   - A refusal leaves no row: it had no effect, so a repetition is a new request.
//   - requests.1: A generated request id of a send, or of an ask that is no longer open, is deleted earlier:
//     when its instance continues as new and the row is older than GENERATED_KEPT_MS by the store's clock
//     (sql.asks.2 for asks). No client repeats it by then (request-ids.ts). Generated ids are a range of the
//     primary key; only turns that continue as new search that range (write/requests.ts of each store).

import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import {
  repeatedStart,
  type RequestKey,
  type RequestOutcome,
} from "../../core/provider/shared/requests.ts";
import { toRequestOutcome } from "../rows/requests.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const SELECT = new Statement(`
  SELECT outcome, execution, digest FROM @requests WHERE instance = $1 AND kind = $2 AND id = $3`);

export function* findRequest({ instance, kind, id }: RequestKey): Script<RequestOutcome | null> {
  const row = yield* first(SELECT, instance, kind, id);
  return row === undefined ? null : toRequestOutcome(row);
}

/** The result of the first start with this request id. If that start got a lease, this one gets none. */
export function* findStartRequest(instance: number, item: StartItem): Script<StartResult | null> {
  if (item.requestId === null) return null;
  const found = yield* findRequest({ instance, kind: "start", id: item.requestId });
  return found === null ? null : repeatedStart(instance, found, item);
}
