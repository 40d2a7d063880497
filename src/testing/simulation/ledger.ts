// The ledger: what was acknowledged and what user code did, kept outside of the system under test.
//   LE1. Nothing of a dead process is entered: whatever its code still does, nobody is there to see it.
//   LE2. An entry is made before the code that it is about runs, and its end when that code has ended.

/** One run of an activity or a step. */
export interface RunEntry {
  readonly kind: "activity" | "step";
  readonly name: string;
  readonly instance: string;
  /** The idempotency key: one a call. */
  readonly key: string;
  readonly attempt: number;
  readonly process: string;
  /** Since the beginning of the run. */
  readonly at: number;
  /** The same moment by the store's clock. */
  readonly storeAt: number;
  /** How its code ended; null: not yet, or its process died. */
  end: "completed" | "failed" | null;
  /** Set with `end`. */
  endedAt: number | null;
}

/** Something that a client was told is done. */
export interface Acknowledged {
  readonly kind: "start" | "raise" | "cancel" | "terminate" | "pause" | "resume" | "restart";
  readonly id: string;
  /** The request id, where there is one. */
  readonly request: string | null;
  readonly at: number;
}

/** What was acknowledged and what user code did. */
export class Ledger {
  readonly runs: RunEntry[] = [];
  readonly acknowledged: Acknowledged[] = [];
  readonly #byKey = new Map<string, RunEntry[]>();

  enter(entry: Omit<RunEntry, "end" | "endedAt">): RunEntry {
    const run: RunEntry = { ...entry, end: null, endedAt: null };
    this.runs.push(run);
    const known = this.#byKey.get(run.key);
    if (known === undefined) this.#byKey.set(run.key, [run]);
    else known.push(run);
    return run;
  }

  acknowledge(entry: Acknowledged): void {
    this.acknowledged.push(entry);
  }

  runsOf(key: string): readonly RunEntry[] {
    return this.#byKey.get(key) ?? [];
  }
}
