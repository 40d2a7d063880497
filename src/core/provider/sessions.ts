// Sessions: the activities of a session run on its owner until the session is idle or lost (semantics
// 15).
//   - sessions.1: A session has one owner at a time, under a token that every update names. A session is
//     claimed in the statement that leases its task.
//   - sessions.2: A session is renewed while it was active within the idle time. An idle session expires
//     and may move to another owner.
//   - sessions.3: An expired session does not invalidate the result of a running task. The task's own
//     token decides that.
//   - sessions.4: Taking, renewing and finishing the tasks of a session updates its last activity. This
//     never revives a lost session.
//   - sessions.5: A turn may lease a new task of a session that the caller holds. The lease then names the
//     claim on the session. If the session is not held under the token of the claim, the turn is refused; a
//     start writes nothing of such a first turn (commit.5).

/** A session, its owner, and the time until which it is held. */
export interface SessionRecord {
  readonly id: string;
  readonly owner: string;
  readonly until: number;
  readonly lastActivityAt: number;
}

/** The part of a provider that stores sessions. */
export interface SessionStore {
  /** Renews the sessions that the owner holds and used within `idleMs`. Returns their number. */
  renewSessions(request: { owner: string; leaseMs: number; idleMs: number }): Promise<number>;
  /** Releases all sessions of the owner, at shutdown. */
  releaseSessions(owner: string): Promise<void>;
  /** Deletes expired sessions that no task waits for. Returns their number. */
  cleanSessions(): Promise<number>;
  listSessions(): Promise<readonly SessionRecord[]>;
}
