// Kept messages: reads the events that wait for ids that do not exist yet, and the expired ones (kept.ts of
// the contract).

import type { KeptRecord, KeptRecords, KeptRequest } from "../../core/provider/kept.ts";
import { isDamaged } from "../../core/values/checksum.ts";
import { flag, integer, integerOrNull, text, type Row } from "../columns.ts";
import { indexEquals } from "../index-lookup.ts";
import type { ReadParts } from "../parts.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import { lives } from "../write/early-messages.ts";

const select = (condition: string): Statement =>
  new Statement(`
    WITH sized AS (
      SELECT number, row_number() OVER (ORDER BY number) AS n,
        sum(bytes) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS total
      FROM (
        SELECT number, octet_length(data) AS bytes FROM @kept
        WHERE number > $1 ${condition} ORDER BY number LIMIT $2::bigint + 1) AS e
    )
    SELECT k.number, k.id, k.key, k.name, k.data, k.checksum, k.created_at, k.expires_at,
      ${lives("k", "@now")} AS lives, (SELECT count(*) FROM sized) AS sized
    FROM sized AS s JOIN @kept AS k ON ${indexEquals("k.number", "s.number")}
    WHERE s.n = 1 OR (s.n <= $2::bigint AND s.total <= $3::bigint) ORDER BY s.n`);
const SELECT_ALL = select("");
const SELECT_OF_ID = select("AND id = $4");

export function* readKept(
  { id, after, limit, bytesMax }: KeptRequest,
  parts: ReadParts,
): Script<KeptRecords> {
  const from = after ?? Number.MIN_SAFE_INTEGER;
  const rows =
    id === null
      ? yield* run(SELECT_ALL, from, limit, bytesMax)
      : yield* run(SELECT_OF_ID, from, limit, bytesMax, id);
  const more = rows[0] !== undefined && integer(rows[0], "sized") > rows.length;
  return { messages: rows.map((row) => toKept(row, parts)), more };
}

function toKept(row: Row, { coveredOfKept }: ReadParts): KeptRecord {
  const [id, key, name] = [text(row, "id"), text(row, "key"), text(row, "name")];
  const data = text(row, "data");
  const record = {
    number: integer(row, "number"),
    id,
    name,
    requestId: key,
    data: flag(row, "lives") ? data : null,
    createdAt: integer(row, "created_at"),
    expiresAt: integer(row, "expires_at"),
  };
  const checksum = integerOrNull(row, "checksum");
  if (!isDamaged(checksum, ...coveredOfKept({ id, key, name, data }))) return record;
  return { ...record, damaged: true };
}
