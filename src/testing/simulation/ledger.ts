// Ledger: records acknowledged calls and runs of user code, outside the system under test.
//   - ledger.1: The ledger ignores entries of a crashed process: its code no longer counts.
//   - ledger.2: An entry is made before its code runs. Its end is recorded when that code has ended.

/** One run of an activity or a step. */
export interface RunEntry {
  readonly kind: "activity" | "step";
  readonly name: string;
  readonly instance: string;
  /** The idempotency key: one per call. */
  readonly key: string;
  readonly attempt: number;
  /** A checksum of the input of an activity. Absent for a step. */
  readonly input?: number;
  readonly process: string;
  /** Milliseconds since the start of the simulation run. */
  readonly at: number;
  /** The same moment, by the store's clock. */
  readonly storeAt: number;
  /** How the code ended. Null while it runs; stays null if its process crashes. */
  end: "completed" | "failed" | null;
  /** Set with `end`. */
  endedAt: number | null;
}

/** A call of a client that the store acknowledged. */
export interface Acknowledged {
  readonly kind:
    "start" | "raise" | "cancel" | "terminate" | "pause" | "resume" | "restart" | "rewind";
  readonly id: string;
  /** The request id, or null. */
  readonly request: string | null;
  readonly at: number;
}

/** The acknowledged calls and the runs of user code. */
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
