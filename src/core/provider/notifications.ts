// Notifications: what a commit changed.
//   - notifications.1: A notification is sent after the commit that caused it has returned, never before
//     (I13).
//   - notifications.2: It is only a hint: a process that misses it finds the same change by polling.

/** What a commit changed: a hint for readers. */
export interface News {
  /** Ids of instances that have new messages due now. */
  readonly due: readonly string[];
  /**
   * Ids of instances that ended, continued as new, were (un)blocked, paused, resumed or deleted, or
   * changed visible state.
   */
  readonly changed: readonly string[];
  /** Ids of instances with a running activity that reported progress; only for watchers. */
  readonly progressed?: readonly string[];
  /** A task waits in the queue. */
  readonly tasks: boolean;
  /** Another process wrote something: anything may have changed. */
  readonly elsewhere: boolean;
}
/** Receives notifications of commits. */
export type NewsListener = (changes: News) => void;
