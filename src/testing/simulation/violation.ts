// A violation: something that must never be, and was.

/** Something that must never be, and was. */
export interface Violation {
  /** The number of an invariant of the programme ("I1" to "I21"), or a word. */
  readonly invariant: string;
  readonly what: string;
  /** Since the beginning of the run. */
  readonly atMs: number;
}

/** Every invariant, by its number, and what it says. The files in invariants/ check them. */
export const INVARIANTS = {
  I1: "Event numbers are 1 to n without gaps or repetitions.",
  I2: "Each completion answers exactly one open call.",
  I3: "At most one event ends an execution.",
  I4: "A history only grows.",
  I5: "A lease is given only while no other holds.",
  I6: "Nothing is written under a token that was replaced.",
  I7: "Messages: sent = received + waiting; none is lost or doubled.",
  I8: "Whatever a history has open, the store holds the thing that will end it.",
  I9: "Messages of one name are received in the order in which they were sent.",
  I10: "No timer fires before its time by the store's clock.",
  I11: "A replay of any stored history asks for the same and comes to the same end.",
  I12: "A history that is read and written again is the same text.",
  I13: "What an instance's row says follows from its history.",
  I14: "A parent is told of each child's end once.",
  I15: "A cancelled call has no result besides.",
  I16: "Attempts are counted when their code was entered, or their owner died.",
  I17: "What could run does not wait while somebody could run it.",
  I18: "A program comes to the result that was worked out for it.",
  I19: "Every run of an activity beyond the first has its reason.",
  I20: "No rejection is unhandled, nothing is thrown past the engine, nothing is left or begins after a goodbye.",
  I21: "An instance whose cancel was accepted continues as new at most once more.",
} as const;
/** The number of an invariant. */
export type InvariantNumber = keyof typeof INVARIANTS;
/** What is no invariant of the programme but ends a run as well. */
export type OtherFault =
  | "lost" // acknowledged, and nowhere
  | "stuck" // not at its end, long after everything went right again
  | "endless" // something spins
  | "infrastructure" // an instance was ended by a fault that was none of its own (P6)
  | "blocked" // for no reason
  | "paused" // a turn was committed although nobody had resumed its instance (semantics 20)
  | "check"; // what the workload itself says
