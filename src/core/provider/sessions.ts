// Sessions: activities of one session run where its owner is, until it is idle or lost (reference rules 2.I).
//   SE1. A session has one owner at a time, under a token that every bump names; claiming happens in the
//        statement that leases its task.
//   SE2. A lease is prolonged while its session was active within the idle time; an idle one lapses and may move.
//   SE3. A lapsed lease never takes a running task's result: the task's own token decides that.
//   SE4. A session's last activity is moved by taking, renewing and finishing its tasks, never reviving a lost one.

/** A session, its owner, and until when it is held. */
export interface SessionRecord {
  readonly id: string;
  readonly owner: string;
  readonly until: number;
  readonly lastActivityAt: number;
}

/** The part of a provider that keeps sessions. */
export interface SessionStore {
  /** Prolongs what the owner holds and used within `idleMs`; how many that were. */
  renewSessions(request: { owner: string; leaseMs: number; idleMs: number }): Promise<number>;
  /** Gives up what the owner holds; at an orderly end. */
  releaseSessions(owner: string): Promise<void>;
  /** Removes lapsed sessions that no task waits for; how many that were. */
  cleanSessions(): Promise<number>;
  listSessions(): Promise<readonly SessionRecord[]>;
}
