// Programs: what the orchestrations of a simulation do, as data.
//   PR1. Every program has a result that can be worked out without running it (expected.ts); where two parts race,
//        a few results that are all right.
//   PR2. Numbers in it are whole milliseconds and salts; nothing of it depends on the run.

/** A wait for events that clients raise. */
export type EventNode = Extract<Program, { op: "events" | "mailbox" }>;

/** How an attempt of an activity or step fails. */
export type FailureStyle = "throw" | "nonRetryable" | "retryAfter" | "timeout";

/**
 * What only a cancel ends. "long" is work that does end, when everything else has long been over: a process that
 * dies under endless work again and again has no room for others.
 */
export type Opponent = "timer" | "event" | "endless" | "long";

export interface WorkNode {
  readonly op: "work";
  readonly salt: number;
  readonly ms: number;
  /** Attempts that fail before one succeeds. */
  readonly fails: number;
  readonly attempts: number;
  readonly style: FailureStyle;
  readonly tagged: boolean;
  readonly session: string | null;
  readonly priority: number | null;
  /** Tells beats and progress while it runs. */
  readonly tells: boolean;
}
export type Program =
  | WorkNode
  | {
      readonly op: "step";
      readonly salt: number;
      readonly ms: number;
      readonly fails: number;
      readonly attempts: number;
    }
  /** An activity that ends its process whenever it runs. */
  | { readonly op: "poison"; readonly salt: number }
  /** A turn or a step that ends its process whenever it runs. If `fixed`, the second deployment's code does not. */
  | {
      readonly op: "kill";
      readonly where: "turn" | "step";
      readonly fixed: boolean;
      readonly salt: number;
    }
  /** An activity with a last moment, which it may miss. */
  | {
      readonly op: "deadline";
      readonly salt: number;
      readonly ms: number;
      readonly closeMs: number;
    }
  | { readonly op: "sleep"; readonly ms: number }
  /** Takes so many events of a name of its own, which clients raise. */
  | {
      readonly op: "events";
      readonly name: string;
      readonly count: number;
      readonly style: "wait" | "stream";
      /** Set: each event is a text of this size. */
      readonly bytes?: number;
    }
  /** A whole round: takes its messages in order, so many per execution, and continues as new after each. */
  | {
      readonly op: "mailbox";
      readonly name: string;
      readonly count: number;
      readonly perExecution: number;
    }
  /** A whole round: continues as new so many times without waiting. */
  | { readonly op: "spin"; readonly times: number }
  /** A large value on its way through the store: as input and result of an activity, or as the result of a step. */
  | {
      readonly op: "large";
      readonly where: "activity" | "step";
      readonly salt: number;
      readonly bytes: number;
      /** Whether the value itself is the result, which later executions carry as well. */
      readonly isKept: boolean;
    }
  /** Key-values, custom status, attributes. */
  | { readonly op: "state"; readonly key: string; readonly value: number }
  | { readonly op: "chance" }
  | { readonly op: "version" }
  /** Does one thing in the first deployment's code and another in the next one's. */
  | { readonly op: "patched"; readonly salt: number }
  | { readonly op: "throw"; readonly ms: number }
  | {
      readonly op: "child";
      readonly body: Program;
      readonly id: string | null;
      readonly abandon: boolean;
    }
  | { readonly op: "detached"; readonly id: string; readonly body: Program }
  /** A block that is cancelled after a while, before its work ends by itself. */
  | {
      readonly op: "dropped";
      readonly body: Program;
      readonly ms: number;
      readonly against: Opponent;
    }
  /** A race against something that hardly ever ends. */
  | { readonly op: "beaten"; readonly winner: Program; readonly loser: Opponent }
  | { readonly op: "shield"; readonly body: Program }
  | {
      readonly op: "sequence" | "all" | "allSettled" | "race" | "any";
      readonly parts: readonly Program[];
    }
  /** Somebody else's operation: see ExtraOperation. */
  | { readonly op: "extra"; readonly name: string; readonly data: unknown };

/** The parts that a program runs itself; a child's and a detached one's are their own instances'. */
export function partsOf(program: Program): readonly Program[] {
  if ("parts" in program) return program.parts;
  if ("winner" in program) return [program.winner];
  return "body" in program ? [program.body] : [];
}

/** Programs that do less, the most drastic first. */
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
