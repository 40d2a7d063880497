import { expect, test } from "vitest";
import { translate } from "../../../src/sqlite/connection/translate.ts";

test.each([
  ["SELECT key FROM @instances WHERE id = $1", "SELECT key FROM instances WHERE id = ?1"],
  ["SELECT $1::bigint + $2::double precision", "SELECT ?1 + ?2"],
  ["SELECT key FROM @instances FOR NO KEY UPDATE", "SELECT key FROM instances"],
  [
    "SELECT i.key FROM @instances AS i FOR UPDATE OF i SKIP LOCKED",
    "SELECT i.key FROM instances AS i",
  ],
  [
    "DELETE FROM @kv WHERE instance = ANY ($1::bigint[])",
    "DELETE FROM kv WHERE instance IN (SELECT value FROM json_each(?1))",
  ],
  [
    "SELECT k.key FROM unnest($1::bigint[]) AS k (key)",
    "SELECT k.key FROM (SELECT value AS key FROM json_each(?1)) AS k",
  ],
  ["SELECT 1 WHERE i.key = ANY (ARRAY[k.key])", "SELECT 1 WHERE i.key = k.key"],
  [
    "SELECT greatest(a, least(b, 1)), strpos(c, $1) > 0",
    "SELECT max(a, min(b, 1)), instr(c, ?1) > 0",
  ],
  [
    "UPDATE @inbox SET parked = true WHERE parked = false",
    "UPDATE inbox SET parked = 1 WHERE parked = 0",
  ],
  [
    "SELECT array_to_json(t.tags)::text AS tags FROM @tasks AS t",
    "SELECT t.tags AS tags FROM tasks AS t",
  ],
])("%s", (text, sql) => {
  expect(translate(text)).toEqual({ sql, needsNow: false });
});

test("the store's time becomes one more parameter, however often it is named", () => {
  expect(translate("UPDATE @runtimes SET beat_at = @now WHERE id = $1 AND beat_at < @now")).toEqual(
    {
      sql: "UPDATE runtimes SET beat_at = ?2 WHERE id = ?1 AND beat_at < ?2",
      needsNow: true,
    },
  );
});
