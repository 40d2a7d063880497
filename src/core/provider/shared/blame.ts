// Blame: when a worker dies, decides which of the tasks and instances it held get a death counted
// (semantics 9a, 13).
//   - The first death counts for every task that the worker held, and so does the first death of a group of
//     suspects: it shows that one of them is probably the cause.
//   - The second death counts if the worker held no other task with a death. A death of a suspect that ran alone
//     counts if the worker held no other suspect task.
//   - Neither counts if the worker held a suspect instance or a step that had been started again.
//   - For an instance, the lease itself increases the count. For a suspect, the increase is undone if the
//     same worker held another suspect. A suspect with an open step may run for long, so its increase is
//     also undone if another instance had an open step or an uncommitted turn on that worker.
//   - So an instance or task that ran next to the actual cause is retried, and is never blocked or failed
//     for deaths that it did not cause.

/**
 * The number of cold leases in a row without a new event after which an instance is quarantined
 * (semantics 9a). A turn is short, so three deaths in a row during a turn indicate that the turn is the
 * cause. A step may run for long, and every kill and crash of its worker interrupts it, so an instance
 * with open steps gets more tries.
 */
export function quarantineAfter(stepsOpen: boolean): number {
  return stepsOpen ? 5 : 3;
}

/** What a dead worker held that may have caused its death. */
export interface DeadWorkerLoad {
  /** Instances that were leased as suspects. */
  readonly suspects: number;
  /** Instances without a new event since their lease, including suspects. */
  readonly unproven: number;
  /** Instances with open steps. */
  readonly stepping: number;
  /** Unproven instances with open steps: the lease has started the steps again. */
  readonly restepping: number;
  /** Tasks with at least one death, including suspects. Deferred tasks run no code and do not count. */
  readonly marked: number;
  /** Suspect tasks, without deferred ones. */
  readonly trials: number;
}

/** For which kinds this death is counted. */
export interface Blame {
  /** A task with one death that is not a suspect. */
  readonly marked: boolean;
  /** A suspect task that was tried alone. */
  readonly trials: boolean;
  /** A suspect instance without open steps. */
  readonly turns: boolean;
  /** A suspect instance with open steps. */
  readonly steps: boolean;
}

export function blameFor(load: DeadWorkerLoad): Blame {
  const { suspects, unproven, stepping, restepping, marked, trials } = load;
  const turns = suspects <= 1 && marked === 0;
  const noInstance = suspects === 0 && restepping === 0;
  return {
    marked: noInstance && marked <= 1,
    trials: noInstance && trials <= 1,
    turns,
    steps: turns && unproven <= 1 && stepping <= 1,
  };
}

/** Whether a suspect task is tried alone. With fewer counted deaths it is tried together with others. */
export function runsAlone(deaths: number): boolean {
  return deaths > 1;
}

/**
 * In `blocked_by`, the entry of a quarantine begins with this, as JSON text. The id of a runtime never
 * does.
 */
const CODE = '"code:';

/** The entry of a quarantine under this code, as it appears in the JSON array `blocked_by`. */
export function codeEntry(code: string): string {
  return JSON.stringify(`code:${code}`);
}

/**
 * The text in `blocked_by` that excludes a runtime with this code; undefined: any quarantine excludes it.
 */
export function excludingEntry(code: string | undefined): string {
  return code === undefined ? CODE : codeEntry(code);
}
export const ANY_QUARANTINE = CODE;
