// Programs: the actions of simulated orchestrations, as data.
//   - The result of every program can be computed without running it (expected.ts). If two parts race,
//        several results are valid.
//   - Numbers are whole milliseconds and salts. No number depends on the run.

/** A part that waits for events from clients. */
export type EventNode = Extract<Program, { op: "events" | "mailbox" }>;

/** How an attempt of an activity or step fails. */
export type FailureStyle = "throw" | "nonRetryable" | "retryAfter" | "timeout";

/**
 * The part of a race that only a cancel ends. "long" is work that does end, but much later than everything
 * else. It replaces "endless" where crashes are frequent: retried endless work would take all slots of a
 * worker.
 */
export type Opponent = "timer" | "event" | "endless" | "long";

export interface WorkNode {
  readonly op: "work";
  readonly salt: number;
  readonly ms: number;
  /** The number of attempts that fail before one succeeds. */
  readonly fails: number;
  readonly attempts: number;
  readonly style: FailureStyle;
  readonly tagged: boolean;
  readonly session: string | null;
  readonly priority: number | null;
  /** Whether the activity sends heartbeats and progress while it runs. */
  readonly tells: boolean;
}
/** How a server handles a request: it answers at once, refuses, fails, or waits or works before it answers. */
export type RequestStyle = "answer" | "refuse" | "fail" | "wait" | "work";
/** The input of a request. */
export interface RequestData {
  /** Unique: a request that is handled twice is detected. */
  readonly key: string;
  readonly salt: number;
  readonly style: RequestStyle;
  readonly ms: number;
}
export interface ServeNode {
  readonly op: "serve";
  readonly how: "loop" | "serial" | "concurrent";
  readonly perExecution: number;
}
/** Asks the root instance of a server. */
export interface AskNode extends RequestData {
  readonly op: "ask";
  readonly to: string;
  /** The round of the server, if the ask starts it. */
  readonly start: ServeNode | null;
  /** Whether an operator may end the server. */
  readonly mayEnd: boolean;
}
/** A part that writes `count` values to a stream of its instance. */
export interface StreamPart {
  readonly stream: string;
  /** Unique: it is in every value of the part. */
  readonly key: string;
  readonly count: number;
  /** The size of each value, about. */
  readonly bytes: number;
}
/** The orchestration writes. */
export interface WriteNode extends StreamPart {
  readonly op: "write";
  /** Closes the stream after the values. */
  readonly closes: boolean;
}
/** An activity writes while it runs. */
export interface StreamedNode extends StreamPart {
  readonly op: "streamed";
  readonly salt: number;
  readonly ms: number;
  readonly fails: number;
  readonly attempts: number;
  /** Whether the activity waits until each value is in the store. */
  readonly flushes: boolean;
}
/** Waits for a call from a client. An activity hands the token out first. */
export interface CallbackNode {
  readonly op: "callback";
  /** Unique: the name of the callback, by which its callers find the token. */
  readonly key: string;
  /** "race": against a timer of `ms`. "late": the code sleeps for `ms` before it waits. */
  readonly how: "await" | "race" | "late";
  readonly ms: number;
  readonly timeoutMs: number | null;
}
/** An activity that is completed or failed by a client. */
export interface LaterNode {
  readonly op: "later";
  readonly key: string;
  /** How long an attempt runs after it has handed its token out. */
  readonly ms: number;
  /** The number of attempts that throw although they have handed a token out. */
  readonly fails: number;
  readonly attempts: number;
  readonly timeoutMs: number | null;
  readonly heartbeatMs: number | null;
}
export type Program =
  | WorkNode
  | WriteNode
  | StreamedNode
  | CallbackNode
  | LaterNode
  | {
      readonly op: "step";
      readonly salt: number;
      readonly ms: number;
      readonly fails: number;
      readonly attempts: number;
    }
  /** An activity that ends its process whenever it runs. */
  | { readonly op: "poison"; readonly salt: number }
  /** A turn or a step that ends its process whenever it runs. If `fixed`, the second deployment does not. */
  | {
      readonly op: "kill";
      readonly where: "turn" | "step";
      readonly fixed: boolean;
      readonly salt: number;
    }
  /** An activity with a deadline, which it may miss. */
  | {
      readonly op: "deadline";
      readonly salt: number;
      readonly ms: number;
      readonly closeMs: number;
    }
  | { readonly op: "sleep"; readonly ms: number }
  /** Receives `count` events with a unique name from clients. */
  | {
      readonly op: "events";
      readonly name: string;
      readonly count: number;
      readonly style: "wait" | "stream";
      /** If set, the data of each event is a text of this size. */
      readonly bytes?: number;
    }
  /** A whole round: receives its messages in order, a fixed number per execution, and continues as new. */
  | {
      readonly op: "mailbox";
      readonly name: string;
      readonly count: number;
      readonly perExecution: number;
    }
  /** A whole round: continues as new `times` times without waiting. */
  | { readonly op: "spin"; readonly times: number }
  /** A whole round that never ends: answers requests, and continues as new after `perExecution` of them. */
  | ServeNode
  | AskNode
  /** Raises an event at another root instance, which may not exist yet. */
  | { readonly op: "raise"; readonly to: string; readonly name: string; readonly value: number }
  /** A large value in the store: the input and result of an activity, or the result of a step. */
  | {
      readonly op: "large";
      readonly where: "activity" | "step";
      readonly salt: number;
      readonly bytes: number;
      /** Whether the value is also the result, which later executions carry. */
      readonly isKept: boolean;
    }
  /** Sets a key-value, the custom status and attributes. */
  | { readonly op: "state"; readonly key: string; readonly value: number }
  | { readonly op: "chance" }
  | { readonly op: "version" }
  /** Behaves differently in the first and in the second deployment. */
  | { readonly op: "patched"; readonly salt: number }
  | { readonly op: "throw"; readonly ms: number }
  | {
      readonly op: "child";
      readonly body: Program;
      readonly id: string | null;
      readonly abandon: boolean;
    }
  | { readonly op: "detached"; readonly id: string; readonly body: Program }
  /** A block that is cancelled before its work ends. */
  | {
      readonly op: "dropped";
      readonly body: Program;
      readonly ms: number;
      readonly against: Opponent;
    }
  /** A race against an opponent that normally loses. */
  | { readonly op: "beaten"; readonly winner: Program; readonly loser: Opponent }
  | { readonly op: "shield"; readonly body: Program }
  | {
      readonly op: "sequence" | "all" | "allSettled" | "race" | "any";
      readonly parts: readonly Program[];
    }
  /** A custom operation (ExtraOperation). */
  | { readonly op: "extra"; readonly name: string; readonly data: unknown };

/** The parts that run in the same instance. Parts of children and detached instances are not included. */
export function partsOf(program: Program): readonly Program[] {
  if ("parts" in program) return program.parts;
  if ("winner" in program) return [program.winner];
  return "body" in program ? [program.body] : [];
}

/** Smaller programs, for the minimizer; the largest reductions come first. */
export function* smallerPrograms(program: Program): Iterable<Program> {
  yield* partsOf(program);
  if ("parts" in program) {
    for (const [index, part] of program.parts.entries()) {
      if (program.parts.length > 1) yield { ...program, parts: program.parts.toSpliced(index, 1) };
      for (const smaller of smallerPrograms(part)) {
        yield { ...program, parts: program.parts.with(index, smaller) };
      }
    }
  } else if ("body" in program) {
    for (const body of smallerPrograms(program.body)) yield { ...program, body };
  } else if ("winner" in program) {
    for (const winner of smallerPrograms(program.winner)) yield { ...program, winner };
  } else if ("fails" in program && program.fails > 0) yield { ...program, fails: 0 };
  else if (program.op === "mailbox" && program.count > 1) {
    yield { ...program, count: Math.ceil(program.count / 2) };
  } else if (program.op === "spin" && program.times > 1) {
    yield { ...program, times: Math.ceil(program.times / 2) };
  }
  if (program.op !== "sleep") yield { op: "sleep", ms: 0 };
}

/** Work that does not fail. */
export function plainWork(salt: number, ms: number): Partial<WorkNode> {
  return { op: "work", salt, ms, fails: 0, attempts: 1, tells: false };
}
