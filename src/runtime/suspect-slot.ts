// Suspect slot: one suspect at a time per runtime, instance or task, so that its death is known to be its own
// (semantics 9a, 13).
//   SU1. A request for work reserves the slot before it may bring a suspect. A request that was refused the slot is
//        repeated when the slot is free.
//   SU2. A suspect that runs for long gives the slot up: work that it waits for may itself be suspect. The store holds
//        no death against two suspects of one worker (blame.ts). A fixed time would let a killer end every process next
//        to the same long activity forever, so the time is drawn: at least TRIAL_MS, twice as long with every toss of a
//        coin that is won. In some process an innocent suspect ends before the next one is tried.

const TRIAL_MS = 60_000;
const DOUBLINGS_MAX = 10;

/** Who asks the store for work. */
export type Asking = "instances" | "tasks";

export class SuspectSlot {
  readonly #monotonic: () => number;
  readonly #onFree: (asking: Asking) => void;
  readonly #random: () => number;
  /** Until when they keep the slot. */
  readonly #trials = new Map<string, number>();
  #reservedBy: Asking | null = null;
  readonly #refused = new Set<Asking>();

  constructor(options: {
    readonly monotonic: () => number;
    /** In [0, 1). */
    readonly random: () => number;
    readonly onFree: (asking: Asking) => void;
  }) {
    this.#monotonic = options.monotonic;
    this.#random = options.random;
    this.#onFree = options.onFree;
  }

  /** Whether the request may bring a suspect; `answered` follows in any case. */
  reserve(asking: Asking): boolean {
    if (this.#reservedBy !== null || this.#isTaken()) {
      this.#refused.add(asking);
      return false;
    }
    this.#reservedBy = asking;
    return true;
  }

  /** The request has its answer, and what it brought has entered. */
  answered(asking: Asking): void {
    if (this.#reservedBy !== asking) return;
    this.#reservedBy = null;
    this.#tell();
  }

  enter(suspect: string): void {
    const doublings = Math.min(Math.floor(-Math.log2(1 - this.#random())), DOUBLINGS_MAX);
    this.#trials.set(suspect, this.#monotonic() + TRIAL_MS * 2 ** doublings);
  }

  /** It is cleared, over, or no longer here. */
  leave(suspect: string): void {
    if (!this.#trials.delete(suspect)) return;
    // Whoever asked while it was tried was not told that further suspects wait.
    this.#refused.add("instances").add("tasks");
    this.#tell();
  }

  #isTaken(): boolean {
    const now = this.#monotonic();
    return this.#trials.values().some((until) => until > now);
  }

  #tell(): void {
    if (this.#reservedBy !== null || this.#isTaken()) return;
    const refused = [...this.#refused];
    this.#refused.clear();
    for (const asking of refused) this.#onFree(asking);
  }
}

export function instanceSuspect(key: number): string {
  return `instance ${key}`;
}
