// Replay versions: which rules of replay wrote a history, and which rules this code can replay.
//   - A change to the rules that older code could not replay must raise REPLAY_VERSION.

/** The version of the replay rules by which this code writes history. */
export const REPLAY_VERSION = 1;

/** A range of replay versions, both ends included. */
export interface ReplayVersions {
  readonly min: number;
  readonly max: number;
}

/**
 * The versions that this code can replay. A runtime registers them, so that others can see why an instance
 * waits.
 */
export const REPLAY_VERSIONS: ReplayVersions = { min: 1, max: REPLAY_VERSION };
