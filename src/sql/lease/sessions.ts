// Sessions: renewal and release of the leases of sessions. Each store claims sessions itself, with the tasks
// that it leases (lease/sessions.ts of the stores).
//   - A renewal does not extend a lapsed lease; the session must be claimed again (sessions.2).
//   - Every release of a session notifies workers that its tasks may be waiting.

import type { SessionRecord, SessionStore } from "../../core/provider/sessions.ts";
import { notExists } from "../index-lookup.ts";
import { toSession } from "../rows/runtime-rows.ts";
import { ANY_TASK, type Scope } from "../script/scope.ts";
import { run, type Script } from "../script/script.ts";
import { call, Statement, type Call } from "../script/statement.ts";

const RENEW = new Statement(`
  UPDATE @sessions
  SET until = greatest(until, least(@now + $2::bigint, ${Number.MAX_SAFE_INTEGER}))
  WHERE owner = $1 AND until > @now AND last_activity_at > @now - $3::bigint`);
const RELEASE = new Statement("DELETE FROM @sessions WHERE owner = $1 RETURNING id");
const CLEAN = new Statement(`
  DELETE FROM @sessions AS s WHERE s.until <= @now AND ${notExists(`
    FROM @tasks AS t
    WHERE t.session = s.id AND t.lease_owner IS NULL AND t.session IS NOT NULL`)}`);
const SELECT = new Statement(`
  SELECT id, owner, until, last_activity_at FROM @sessions ORDER BY id`);

/** Deletes expired sessions that no task waits for. */
export const SESSION_CLEANUP = call(CLEAN);

type Renewal = Parameters<SessionStore["renewSessions"]>[0];

export function sessionRenewal({ owner, leaseMs, idleMs }: Renewal): Call {
  return call(RENEW, owner, wholeMs(leaseMs), wholeMs(idleMs));
}

export function* listSessions(): Script<readonly SessionRecord[]> {
  return (yield* run(SELECT)).map(toSession);
}

/**
 * Releases the sessions of a runtime that left or died. An owner that is a node with several runtimes never
 * matches a runtime id; its sessions lapse instead.
 */
export function* releaseSessions(owner: string, { changes }: Scope): Script<void> {
  if ((yield* run(RELEASE, owner)).length > 0) changes.queued(ANY_TASK);
}

/** Rounded up, so that no time ends early (P5). */
function wholeMs(ms: number): number {
  return Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER);
}
