// Violations: the invariants of the engine, by number, and the type of a detected violation.

/** A violated invariant, detected in a run. */
export interface Violation {
  /** The number of an invariant ("C1" to "C34"), or an `OtherFault`. */
  readonly invariant: string;
  readonly what: string;
  /** Milliseconds since the start of the run. */
  readonly atMs: number;
}

/** Every invariant, by number. The files in invariants/ check them. */
export const INVARIANTS = {
  C1: "Event numbers are 1 to n without gaps or repetitions.",
  C2: "Each completion answers exactly one open call.",
  C3: "At most one event ends an execution.",
  C4: "A history only grows.",
  C5: "A lease is granted only while no other is valid.",
  C6: "Nothing is written under a token that was replaced.",
  C7: "Messages: sent = received + waiting; none is lost or duplicated.",
  C8: "For every open call of a history, the store holds the row that will end it.",
  C9: "Messages of one name are received in the order in which they were sent.",
  C10: "No timer fires before its time by the store's clock.",
  C11: "A replay of any stored history makes the same calls and has the same end.",
  C12: "A history that is decoded and encoded again is the same text.",
  C13: "The row of an instance follows from its history.",
  C14: "A parent is notified of each child's end once.",
  C15: "A cancelled call has no other result.",
  C16: "An attempt counts if its code was entered or its owner crashed.",
  C17: "Work that a live process could run does not wait.",
  C18: "A program has the expected result.",
  C19: "Every extra run of an activity has a reason.",
  C20: "No rejection is unhandled, no error escapes the engine, and nothing is left or starts after a shutdown.",
  C21: "An instance whose cancel was accepted continues as new at most once after it.",
  C22: "A callback delivers at most one value, and a client has sent it.",
  C23: "A completion of a live callback that was acknowledged is not lost.",
  C24: "A repeated completion is acknowledged and changes nothing.",
  C25: "A callback that was closed stays closed.",
  C26: "An activity that completes later ends once, by a call, by its retry policy or by its timeout.",
  C27: "At most one job of a unique key is pending or running, and at most one more waits for its end.",
  C28: "No task is leased beyond the limits of its queue, or while its queue is paused.",
  C29: "A rate is not exceeded at the entry of the code, over any window.",
  C30: "A job runs with the input and at the time that the rule of its calls says.",
  C31: "A throttle window starts one job, and one more if the calls allow a trailing one.",
  C32: "A call whose outcome a rewind kept is not executed again.",
  C33: "An idempotency key has one input.",
  C34: "A rewind returns the events that were read after its cut, once and in order.",
} as const;
/** The number of an invariant. */
export type InvariantNumber = keyof typeof INVARIANTS;
/** A failure of a run that is not one of the numbered invariants. */
export type OtherFault =
  | "lost" // a call was acknowledged, but its instance does not exist
  | "stuck" // an instance has not ended long after the faults stopped
  | "endless" // the run does not end
  | "infrastructure" // a fault outside the instance's code ended the instance (P6)
  | "blocked" // an instance was blocked without a reason
  | "paused" // a turn was committed while its instance was paused (semantics 20)
  | "check"; // a check of the workload failed
