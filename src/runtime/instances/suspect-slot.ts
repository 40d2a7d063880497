// The suspect slot: limits which suspects (instances and tasks) a runtime tries at the same time, so that a
// crash can be attributed to them (semantics 9a, 13).
//   - A runtime tries one suspect alone, or a group of tasks with one counted death (decision 0057). It adds
//     tasks to a group for JOINING_MS. Then it waits until the group is over, so that a suspect that must run
//     alone gets its turn.
//   - A lease request reserves the slot before it may return a suspect. A request that did not get the
//     slot is repeated when the slot is free, the one for instances first.
//   - A suspect that runs for long gives the slot up, because work that it waits for may itself be
//     suspect. The store does not count a death if one worker held two suspects (blame.ts). With a fixed
//     time, a suspect that kills its process could end every process next to the same long activity,
//     forever. So the time is random: at least TRIAL_MS, doubled with probability one half, repeatedly.
//     In some process an innocent suspect then ends before the next one is tried. A group has one such time.

import type { RuntimeContext } from "../context.ts";

const TRIAL_MS = 60_000;
const DOUBLINGS_MAX = 10;
/** How long tasks are added to a group. */
const JOINING_MS = 1_000;

/** Which of the two pollers sends a request. */
export type RequestKind = "instances" | "tasks";

/** Which suspects a request may return: fields of the request. */
export interface SuspectsOfRequest {
  readonly allowSuspect: boolean;
  readonly suspectsHeld: number;
}

interface Trial {
  readonly until: number;
  readonly isAlone: boolean;
}

export class SuspectSlot {
  readonly #runtime: RuntimeContext;
  readonly #trials = new Map<string, Trial>();
  /** Until when tasks may be added to the current group. */
  #joinUntil = 0;
  #reservedBy: RequestKind | null = null;
  readonly #refused = new Set<RequestKind>();

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** `answered` must follow in any case. */
  reserve(kind: RequestKind): SuspectsOfRequest {
    const trials = this.#running();
    const mayJoin = (): boolean =>
      kind === "tasks" &&
      this.#runtime.monotonic() < this.#joinUntil &&
      !trials.some(({ isAlone }) => isAlone);
    const allowSuspect = this.#reservedBy === null && (trials.length === 0 || mayJoin());
    if (allowSuspect) this.#reservedBy = kind;
    else this.#refused.add(kind);
    return { allowSuspect, suspectsHeld: trials.length };
  }

  /** The request has its reply, and the suspects it returned have entered. */
  answered(kind: RequestKind): void {
    if (this.#reservedBy !== kind) return;
    this.#reservedBy = null;
    this.#notifyIfFree();
  }

  enter(suspect: string, isAlone: boolean): void {
    const [group] = this.#running();
    if (group === undefined) this.#joinUntil = this.#runtime.monotonic() + JOINING_MS;
    this.#trials.set(suspect, { until: group?.until ?? this.#endOfTrial(), isAlone });
  }

  /** The suspect is cleared, over, or no longer held here. */
  leave(suspect: string): void {
    if (!this.#trials.delete(suspect)) return;
    // A request during the trial could not see whether further suspects wait, so both pollers poll again.
    this.#refused.add("instances").add("tasks");
    this.#notifyIfFree();
  }

  #endOfTrial(): number {
    const random = this.#runtime.environment.random(); // in [0, 1)
    const doublings = Math.min(Math.floor(-Math.log2(1 - random)), DOUBLINGS_MAX);
    return this.#runtime.monotonic() + TRIAL_MS * 2 ** doublings;
  }

  #running(): readonly Trial[] {
    const now = this.#runtime.monotonic();
    return [...this.#trials.values()].filter(({ until }) => until > now);
  }

  #notifyIfFree(): void {
    if (this.#reservedBy !== null || this.#running().length > 0) return;
    const refused = (["instances", "tasks"] as const).filter((kind) => this.#refused.has(kind));
    this.#refused.clear();
    for (const kind of refused) this.#runtime.intake.wakeFor(kind);
  }
}

export function instanceSuspect(key: number): string {
  return `instance ${key}`;
}
