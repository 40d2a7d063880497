// The suspect slot: a runtime tries one suspect (instance or task) at a time, so that a crash can be
// attributed to it (semantics 9a, 13).
//   - A lease request reserves the slot before it may return a suspect. A request that did not get the
//     slot is repeated when the slot is free.
//   - A suspect that runs for long gives the slot up, because work that it waits for may itself be
//     suspect. The store does not count a death if one worker held two suspects (blame.ts). With a fixed
//     time, a suspect that kills its process could end every process next to the same long activity,
//     forever. So the time is random: at least TRIAL_MS, doubled with probability one half, repeatedly.
//     In some process an innocent suspect then ends before the next one is tried.

import type { RuntimeContext } from "../context.ts";

const TRIAL_MS = 60_000;
const DOUBLINGS_MAX = 10;

/** Which of the two pollers sends a request. */
export type RequestKind = "instances" | "tasks";

export class SuspectSlot {
  readonly #runtime: RuntimeContext;
  /** For each suspect, the time until which it keeps the slot. */
  readonly #trials = new Map<string, number>();
  #reservedBy: RequestKind | null = null;
  readonly #refused = new Set<RequestKind>();

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** Whether the request may return a suspect. `answered` must follow in any case. */
  reserve(kind: RequestKind): boolean {
    if (this.#reservedBy !== null || this.#isTaken()) {
      this.#refused.add(kind);
      return false;
    }
    this.#reservedBy = kind;
    return true;
  }

  /** The request has its reply, and the suspect it returned has entered. */
  answered(kind: RequestKind): void {
    if (this.#reservedBy !== kind) return;
    this.#reservedBy = null;
    this.#notifyIfFree();
  }

  enter(suspect: string): void {
    const random = this.#runtime.environment.random(); // in [0, 1)
    const doublings = Math.min(Math.floor(-Math.log2(1 - random)), DOUBLINGS_MAX);
    this.#trials.set(suspect, this.#runtime.monotonic() + TRIAL_MS * 2 ** doublings);
  }

  /** The suspect is cleared, over, or no longer held here. */
  leave(suspect: string): void {
    if (!this.#trials.delete(suspect)) return;
    // A request during the trial could not see whether further suspects wait, so both pollers poll again.
    this.#refused.add("instances").add("tasks");
    this.#notifyIfFree();
  }

  #isTaken(): boolean {
    const now = this.#runtime.monotonic();
    return this.#trials.values().some((until) => until > now);
  }

  #notifyIfFree(): void {
    if (this.#reservedBy !== null || this.#isTaken()) return;
    const refused = [...this.#refused];
    this.#refused.clear();
    for (const kind of refused) this.#runtime.intake.wakeFor(kind);
  }
}

export function instanceSuspect(key: number): string {
  return `instance ${key}`;
}
