// Blocks: marks an instance that cannot continue, and removes the mark.
//   - A block releases the lease and records the runtime that found the problem; that runtime does not
//     lease the instance again (semantics 5). A quarantine records the code it was found under instead
//     (provider.instances.5).
//   - An unblock inserts a wake message, because the blocked turn may already have consumed every other
//     message. An instance without history gets no wake: its start message makes it due. After a quarantine
//     the unblock keeps the suspicion count, so the next death quarantines the instance again.
//   - A block with open steps inserts a wake message too: no other message would make the instance due for
//     the next runtime.

import type { BlockItem, SimpleResult, UnblockItem } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { DONE, FINISHED, LEASE_LOST, NOT_FOUND } from "../../core/provider/results.ts";
import { ANY_QUARANTINE, codeEntry } from "../../core/provider/shared/blame.ts";
import { flag, integer, text } from "../columns.ts";
import type { ReadParts } from "../parts.ts";
import { lockHead } from "../read/heads.ts";
import { hasDue } from "../read/inbox.ts";
import { addDue, type Scope } from "../script/scope.ts";
import { first, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import { insertWake } from "./wake.ts";

// A quarantine subtracts its own lease and one death from the count: one more death quarantines again.
const BLOCK = new Statement(`
  UPDATE @instances SET
    lease_owner = NULL, lease_token = NULL, lease_until = NULL,
    suspicion = CASE WHEN $6::boolean THEN greatest(suspicion - 2, 0) ELSE 0 END,
    blocked = $3, updated_at = $5,
    blocked_by = CASE
      WHEN blocked_by IS NULL THEN '[' || $4::text || ']'
      WHEN strpos(blocked_by, $4::text) > 0 THEN blocked_by
      ELSE rtrim(blocked_by, ']') || ',' || $4::text || ']'
    END
  WHERE key = $1 AND lease_token = $2 RETURNING id, execution, steps_open`);
// A lease that is held now still counts as one (provider.instances.4).
const UNBLOCK = new Statement(`
  UPDATE @instances SET blocked = NULL, blocked_by = NULL, updated_at = $1,
    suspicion = CASE
      WHEN strpos(coalesce(blocked_by, ''), '${ANY_QUARANTINE}') > 0 THEN suspicion
      WHEN lease_token IS NULL THEN 0
      ELSE least(suspicion, 1)
    END
  WHERE key = $2`);

export function* block(item: BlockItem, scope: Scope, parts: ReadParts): Script<SimpleResult> {
  const { key, token, reason, by, code } = item;
  const finder = code === undefined ? JSON.stringify(by) : codeEntry(code);
  const row = yield* first(BLOCK, key, token, reason, finder, scope.now, code !== undefined);
  if (row === undefined) return LEASE_LOST;
  scope.changes.changed(text(row, "id"));
  if (flag(row, "steps_open")) {
    const wake = insertWake({ key, execution: integer(row, "execution") }, scope, parts);
    const [, due] = yield* together(wake, hasDue(key));
    addDue(due.rows, scope.changes);
  }
  return DONE;
}

export function* unblock(
  { id }: UnblockItem,
  scope: Scope,
  parts: ReadParts,
): Script<SimpleResult> {
  const target = yield* lockHead(id);
  if (target === null) return NOT_FOUND;
  if (isTerminalStatus(target.status)) return FINISHED;
  const { key, blocked, lastEvent } = target;
  const needsWake = blocked !== null && lastEvent > 0;
  const wake = needsWake ? [insertWake(target, scope, parts)] : [];
  const answers = yield* together(call(UNBLOCK, scope.now, key), ...wake, hasDue(key));
  if (blocked !== null) scope.changes.changed(id);
  addDue(answers.at(-1)?.rows ?? [], scope.changes);
  return DONE;
}
