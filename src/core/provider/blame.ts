// Blame: for what a dead worker held, whose count of deaths rises (semantics 9a, 13).
//   BM1. The first death counts for every task that the worker held. A further death counts only for a task that was
//        alone: no other task with a death, no suspect instance, no open step was with the same worker.
//   BM2. A lease counts against its instance when it is taken. For a suspect the count is taken back if another suspect
//        was with the same worker; if the suspect has an open step, which may run for long, also if any other instance
//        had an open step or an uncommitted turn there.
//   BM3. So an instance or task in the company of a killer is tried again, and never blocked or failed for its deaths.

/**
 * Cold leases in a row without a new event after which an instance is quarantined (semantics 9a). A turn is short, so
 * three deaths in a row during its turn point at the turn. A step may run for long, and every kill and every crash of
 * its worker interrupts it, so an instance with open steps is tried more often.
 */
export function quarantineAfter(stepsOpen: boolean): number {
  return stepsOpen ? 5 : 3;
}

/** What a dead worker held, as far as it may have caused the death. */
export interface Company {
  /** Instances that were leased as suspects. */
  readonly suspects: number;
  /** Instances whose lease has not been followed by a new event, suspects included. */
  readonly unproven: number;
  /** Instances with open steps. */
  readonly stepping: number;
  /** Tasks with a death. */
  readonly marked: number;
}

/** Whose count rises with this death. */
export interface Blame {
  /** A task that has a death already. */
  readonly tasks: boolean;
  /** A suspect instance without open steps. */
  readonly turns: boolean;
  /** A suspect instance with open steps. */
  readonly steps: boolean;
}

export function blameFor({ suspects, unproven, stepping, marked }: Company): Blame {
  const turns = suspects <= 1 && marked === 0;
  return {
    tasks: marked <= 1 && suspects === 0 && stepping === 0,
    turns,
    steps: turns && unproven <= 1 && stepping <= 1,
  };
}

/** Every quarantine's entry in `blocked_by` begins with this, as JSON text; no runtime's id does. */
const CODE = '"code:';

/** The entry of a quarantine under this code, as it stands in the JSON array `blocked_by`. */
export function codeEntry(code: string): string {
  return JSON.stringify(`code:${code}`);
}

/** What must not be in `blocked_by` of an instance for a runtime with this code; undefined: any quarantine. */
export function shutOutBy(code: string | undefined): string {
  return code === undefined ? CODE : codeEntry(code);
}
export const ANY_QUARANTINE = CODE;
