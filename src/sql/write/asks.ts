// Asks: what happens to the requests of an instance apart from their delivery (provider.asks).
//   - sql.asks.1: The row of an ask names its asker only while the asker waits. The end of an instance, by a
//     turn or without one, and its deletion notify the askers and remove their names.
//   - sql.asks.2: `created_at` of an ask is the time of its last change: the answer, or the restart that made it
//     "finished". So a generated request id is kept for GENERATED_KEPT_MS after its answer (requests.1).
//   - Each store delivers requests and writes answers itself (write/asks.ts of the stores).

import type { AskItem, AskResult, WithdrawItem } from "../../core/provider/asks.ts";
import type { SimpleResult } from "../../core/provider/commit.ts";
import { requestMessageKey } from "../../core/ids/request-messages.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { DONE } from "../../core/provider/results.ts";
import { repeatedAsk, unanswered } from "../../core/provider/shared/asks.ts";
import { flag, integer, type Row } from "../columns.ts";
import type { StoreParts } from "../parts.ts";
import { lockHead, readHead } from "../read/heads.ts";
import { TARGET, type InstanceHead } from "../rows/instance-rows.ts";
import { ASK_COLUMNS, toAsker, toStoredAsk } from "../rows/requests.ts";
import type { Scope } from "../script/scope.ts";
import { first, run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const OF_ASK = "instance = $1 AND kind = 'ask' AND id = $2";
const SELECT = new Statement(`SELECT ${ASK_COLUMNS} FROM @requests WHERE ${OF_ASK}`);
const DELETE = new Statement(`DELETE FROM @requests WHERE ${OF_ASK}`);
const CLEAR_ASKER = new Statement(`UPDATE @requests SET asker = NULL WHERE ${OF_ASK}`);
const SELECT_ASKERS = new Statement(`
  SELECT instance, asker FROM @requests
  WHERE instance = ANY ($1::bigint[]) AND asker IS NOT NULL ORDER BY instance, created_at, id`);
const CLEAR_ASKERS = new Statement(`
  UPDATE @requests SET asker = NULL WHERE instance = ANY ($1::bigint[]) AND asker IS NOT NULL`);
const FINISH = new Statement(`
  UPDATE @requests SET outcome = 'finished', asker = NULL, created_at = $2
  WHERE instance = $1 AND kind = 'ask' AND outcome = 'asked'`);
const DELETE_MESSAGE = new Statement(`
  DELETE FROM @inbox WHERE instance = $1 AND kind = 'event' AND key = $2 RETURNING parked`);
const READY = new Statement(`
  UPDATE @inbox SET parked = false,
    target = (SELECT ${TARGET} FROM @instances AS i WHERE i.key = $1)
  WHERE parked = true AND id = (
    SELECT id FROM @inbox WHERE instance = $1 AND kind = 'event' ORDER BY id LIMIT 1)`);

/** The result of an ask that was written earlier, with the same request id. Null: there was none. */
export function* findAsk(
  item: Pick<AskItem, "requestId" | "requestDigest">,
  { key, status }: InstanceHead,
): Script<AskResult | null> {
  const row = yield* first(SELECT, key, item.requestId);
  if (row === undefined) return null;
  const hasEnded = isTerminalStatus(status);
  return repeatedAsk({ key, hasEnded }, toStoredAsk(row), item.requestDigest);
}

/** As `findAsk`, without a lock on the instance. */
export function* settleAsk(item: AskItem): Script<AskResult | null> {
  const target = yield* readHead(item.id);
  return target === null ? null : yield* findAsk(item, target);
}

/** Withdraws a request if no turn has received it; otherwise its asker no longer waits. */
export function* withdraw({ id, requestId }: WithdrawItem): Script<SimpleResult> {
  const target = yield* lockHead(id);
  if (target === null) return DONE;
  const { key, status } = target;
  const message = yield* first(DELETE_MESSAGE, key, requestMessageKey(requestId));
  yield* run(message === undefined ? CLEAR_ASKER : DELETE, key, requestId);
  const wasReady = message !== undefined && !flag(message, "parked");
  // The next event must make the instance due, as a turn that consumes the oldest event does. An ended
  // instance has no ready message.
  if (wasReady && !isTerminalStatus(status)) yield* run(READY, key);
  return DONE;
}

/** Notifies the instances that wait for an answer of these instances, which end (sql.asks.1). */
export function* releaseAskers<S extends Scope>(
  ended: readonly { readonly key: number; readonly id: string }[],
  scope: S,
  parts: Pick<StoreParts<S>, "post">,
): Script<void> {
  const keys = ended.map(({ key }) => key);
  const rows = yield* run(SELECT_ASKERS, keys);
  if (rows.length === 0) return;
  yield* run(CLEAR_ASKERS, keys);
  const ids = new Map(ended.map(({ key, id }) => [key, id]));
  for (const row of rows) {
    const message = unansweredBy(ids.get(integer(row, "instance")), row);
    if (message !== null) yield* parts.post(message, scope);
  }
}

/** Null: the asker cannot be read, so no message can reach it. */
function unansweredBy(id: string | undefined, row: Row) {
  const asker = toAsker(row);
  return asker === null || id === undefined ? null : unanswered(asker, id);
}

/** Makes the unanswered asks of an instance "finished" for good, because it restarts (provider.asks.3). */
export function* finishAsks(key: number, { now }: Scope): Script<void> {
  yield* run(FINISH, key, now);
}
