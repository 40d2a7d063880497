// Wake: the message that makes an instance due that has open steps and no runtime to run them, or no other
// message.

import { checksumOf } from "../../core/values/checksum.ts";
import type { ReadParts } from "../parts.ts";
import { TARGET } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import { call, Statement, type Call } from "../script/statement.ts";

const INSERT = new Statement(`
  INSERT INTO @inbox (
    instance, priority, target, parked, visible_at, execution, sequence, kind, name, key, data, checksum)
  SELECT i.key, i.priority, ${TARGET}, false, $3::bigint, $2::bigint, NULL, 'wake', NULL, 'wake', '',
    $4::bigint
  FROM @instances AS i WHERE i.key = $1
  ON CONFLICT (instance, kind, key) WHERE key IS NOT NULL DO NOTHING`);
const WAKE = { kind: "wake", sequence: null, name: null, data: "", key: "wake" } as const;

export function insertWake(
  { key, execution }: { readonly key: number; readonly execution: number },
  { now }: Scope,
  { coveredOf }: ReadParts,
): Call {
  const checksum = checksumOf(...coveredOf(key, { ...WAKE, execution, visibleAt: now }));
  return call(INSERT, key, execution, now, checksum);
}
