// Fork: inserts a new instance with a copied history (semantics 21a).
//   - The new instance is running at once. Its history rows are copies of the source's; `copied_until` is
//     the last copied event.
//   - fork.1: A fork has no start message, so a wake message makes it due.

import type { ForkItem, NewInstance, StartResult } from "../../core/provider/commit.ts";
import { checksumOf, checksumOfCopy } from "../../core/values/checksum.ts";
import type { StoreParts } from "../parts.ts";
import type { Scope } from "../script/scope.ts";
import { together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import { insertWake } from "./wake.ts";

const EXECUTION = 1;

const BEGIN = new Statement(`
  UPDATE @instances SET
    status = 'running', last_event = $1::bigint, copied_until = $1::bigint, last_commit = NULL,
    custom_status = $2::text, status_version = CASE WHEN $2::text IS NULL THEN 0 ELSE 1 END,
    custom_status_checksum = $4::integer
  WHERE key = $3`);
const DELETE_START = new Statement("DELETE FROM @inbox WHERE instance = $1 AND kind = 'start'");
const COPY_ROW = new Statement(`
  INSERT INTO @history (instance, execution, first, last, data, checksum)
  VALUES ($1, $2, $3, $4, $5, $6)`);
const COPY_KEY_VALUE = new Statement(`
  INSERT INTO @kv (instance, key, value, updated_at, checksum) VALUES ($1, $2, $3, $4, $5)`);

export function* fork<S extends Scope>(
  { instance, rows, keyValues, status }: ForkItem,
  scope: S,
  parts: StoreParts<S>,
): Script<StartResult> {
  const key = yield* parts.insert(instance, scope);
  if (key === null) return { kind: "refused", code: "INSTANCE_EXISTS" };
  const checksum = status === null ? null : checksumOf(status);
  yield* together(
    call(BEGIN, rows.at(-1)?.last ?? 0, status, key, checksum),
    call(DELETE_START, key), // fork.1
    ...rows.map((row) => {
      const { first, last, data } = row;
      const sum = checksumOfCopy(row, key, EXECUTION, first, last, data);
      return call(COPY_ROW, key, EXECUTION, first, last, data, sum);
    }),
    ...keyValues.map(([name, value, updatedAt]) => {
      const sum = checksumOf(key, name, value);
      return call(COPY_KEY_VALUE, key, name, value, Math.floor(updatedAt), sum);
    }),
    insertWake({ key, execution: EXECUTION }, scope, parts),
  );
  scope.changes.due(instance.id, { owner: null, target: targetOf(instance) });
  return { kind: "started", key, execution: EXECUTION, leased: null };
}

/** What a runtime must register to lease a new instance. */
export function targetOf({ name, version }: NewInstance): string {
  return version === null ? name : `${name}@${version}`;
}
