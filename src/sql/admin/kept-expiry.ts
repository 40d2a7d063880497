// Kept expiry: marks kept messages whose time is over, and deletes old entries (kept.2).
//   - A message is marked by the transaction that returns it. Of two runtimes that look at the same time,
//     one marks a message and reports it.
//   - Messages are marked in the order of their expiry and number, which rules out deadlocks.
//   - A start that takes a message over deletes its row first. The update then finds no row, and nothing is
//     reported.
//   - The checksum of a marked row covers the row without its data.

import type { ExpiredRecord } from "../../core/provider/kept.ts";
import { EXPIRED_LISTED_MS } from "../../core/provider/shared/early-messages.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import { flag, integer, only, text } from "../columns.ts";
import type { ReadParts } from "../parts.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

const IS_OVER = "expired_at IS NULL AND expires_at <= @now";
const IS_OLD = `expired_at IS NOT NULL AND expired_at <= @now - ${EXPIRED_LISTED_MS}`;
/** SQL: whether there is anything to mark or to delete. */
export const ANY_KEPT_EXPIRED = `(EXISTS (SELECT 1 FROM @kept WHERE ${IS_OVER})
  OR EXISTS (SELECT 1 FROM @kept WHERE ${IS_OLD}))`;
const HAS_ANY = new Statement(`SELECT ${ANY_KEPT_EXPIRED} AS found`);
const SELECT = new Statement(`
  SELECT number, id, key, name, created_at, expires_at FROM @kept WHERE ${IS_OVER}
  ORDER BY expires_at, number LIMIT $1::bigint`);
const MARK = new Statement(`
  UPDATE @kept SET data = '', checksum = $2, expired_at = @now
  WHERE number = $1 AND expired_at IS NULL RETURNING number`);
const DELETE_OLD = new Statement(`
  DELETE FROM @kept WHERE number IN (
    SELECT number FROM @kept WHERE ${IS_OLD} ORDER BY expired_at LIMIT $1::bigint)`);

/** Whether there is anything to mark or to delete. */
export function* hasExpired(): Script<boolean> {
  return flag(only(yield* run(HAS_ANY)), "found");
}

export function* expireKept(limit: number, parts: ReadParts): Script<readonly ExpiredRecord[]> {
  yield* run(DELETE_OLD, limit);
  const rows = yield* run(SELECT, limit);
  if (rows.length === 0) return [];
  const marks = rows.map((row) => {
    const [id, key, name] = [text(row, "id"), text(row, "key"), text(row, "name")];
    const checksum = checksumOf(...parts.coveredOfKept({ id, key, name, data: "" }));
    return call(MARK, integer(row, "number"), checksum);
  });
  const answers = yield* together(...marks);
  return rows
    .filter((_, index) => answers[index]?.rows.length === 1)
    .map((row) => ({
      id: text(row, "id"),
      name: text(row, "name"),
      createdAt: integer(row, "created_at"),
      expiresAt: integer(row, "expires_at"),
    }));
}
