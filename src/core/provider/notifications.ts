// News: what a commit made worth looking at.
//   W1. News goes out after the commit that caused it has returned, never before (I13).
//   W2. It is a hint: whoever misses it finds the same by polling.

/** What a commit changed: a hint where to look. */
export interface News {
  /** Ids of instances that have new messages due now. */
  readonly due: readonly string[];
  /** Ids of instances that ended, continued, were (un)blocked, paused, resumed or deleted, or set visible state. */
  readonly changed: readonly string[];
  /** Ids of instances of which a running activity told its progress; for watchers alone. */
  readonly progressed?: readonly string[];
  /** A task waits in the queue. */
  readonly tasks: boolean;
  /** Something was written by another process: look at everything. */
  readonly elsewhere: boolean;
}
/** Hears of commits. */
export type NewsListener = (news: News) => void;
