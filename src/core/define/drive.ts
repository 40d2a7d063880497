// Drives: what a caller gives to a drive and gets back (runtime/drive.ts).

/** Options of `Perdure.drive`. */
export interface DriveOptions {
  /**
   * How long it begins work, in milliseconds. Running activities then have `cancelGraceMs` (a runtime option) to end.
   * Default 25,000.
   */
  readonly maxMs?: number;
}

/** What a drive has done, and when the next one is needed. */
export interface DriveResult {
  /** Turns of instances. */
  readonly turns: number;
  /** Attempts of activities and steps that were begun. */
  readonly attempts: number;
  /** Whether nothing is due. False: work is left. */
  readonly idle: boolean;
  /**
   * When the next work comes due, by the store's clock; the current time if work is left. Null: nothing comes due without a
   * call from outside, such as a start or an event.
   */
  readonly nextAt: Date | null;
}
