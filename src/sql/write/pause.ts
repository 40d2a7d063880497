// Pause: no further turn is committed until the instance is resumed (semantics 20).
//   - A pause leaves the lease: its owner keeps the instance, and the owner's turns are refused as PAUSED
//     (turn.ts of each store).
//   - The first pause counts. A second pause changes nothing; neither does a resume of an instance that is
//     not paused.
//   - Lifting the pause reports the instance as due if a message became due during the pause.

import type { PauseItem, ResumeItem, SimpleResult } from "../../core/provider/commit.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { DONE, FINISHED, NOT_FOUND } from "../../core/provider/results.ts";
import { lockHead } from "../read/heads.ts";
import { hasDue } from "../read/inbox.ts";
import type { InstanceHead } from "../rows/instance-rows.ts";
import { addDue, type Scope } from "../script/scope.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

const SET = new Statement("UPDATE @instances SET paused = $1, updated_at = $2 WHERE key = $3");

export function* pause({ id, info }: PauseItem, { now, changes }: Scope): Script<SimpleResult> {
  const target = yield* lockHead(id);
  if (target === null) return NOT_FOUND;
  if (isTerminalStatus(target.status)) return FINISHED;
  if (target.paused !== null) return DONE;
  yield* run(SET, info, now, target.key);
  changes.changed(id);
  return DONE;
}

export function* resume({ id }: ResumeItem, scope: Scope): Script<SimpleResult> {
  const target = yield* lockHead(id);
  if (target === null) return NOT_FOUND;
  if (isTerminalStatus(target.status)) return FINISHED;
  yield* liftPause(target, scope);
  return DONE;
}

/** Removes the pause of an instance, if it has one. */
export function* liftPause({ id, key, paused }: InstanceHead, scope: Scope): Script<void> {
  if (paused === null) return;
  const [, due] = yield* together(call(SET, null, scope.now, key), hasDue(key));
  scope.changes.changed(id);
  addDue(due.rows, scope.changes);
}
