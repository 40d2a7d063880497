// Notifications: what a commit changed.
//   - notifications.1: A notification is sent after the commit that caused it has returned, never before
//     (I13).
//   - notifications.2: It is only a hint: a process that misses it finds the same change by polling.

import type { Message } from "./messages.ts";

/** An event that came due. */
export interface DueEvent {
  readonly message: Message;
  /** The id of the instance's last turn when the event was stored. A later turn may have consumed the event. */
  readonly lastCommit: number;
}

/** What a commit changed: a hint for readers. */
export interface News {
  /** Ids of instances that have new messages due now. */
  readonly due: readonly string[];
  /**
   * Events in full, by the id of an instance in `due` that has no other message due. A runtime that holds
   * the instance and has committed its last turn needs no read. A store may leave this out.
   */
  readonly dueEvents?: ReadonlyMap<string, DueEvent>;
  /**
   * Ids of instances that ended, continued as new, were (un)blocked, paused, resumed or deleted, or
   * changed visible state.
   */
  readonly changed: readonly string[];
  /** Ids of instances with a running activity that reported progress; only for watchers. */
  readonly progressed?: readonly string[];
  /** Ids of instances whose streams have new entries, were closed or settled; only for readers of streams. */
  readonly streamed?: readonly string[];
  /** A task waits in the queue. */
  readonly tasks: boolean;
  /** Another process wrote something: anything may have changed. */
  readonly elsewhere: boolean;
}
/** Receives notifications of commits. */
export type NewsListener = (changes: News) => void;
