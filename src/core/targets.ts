// Targets: what a runtime must register to take an instance (semantics 22), as text that stores compare.
//   TA1. `name` for a start that named no version, `name@version` for a pinned one, `name@version#2` when later
//        rules of replay than the first wrote its history. Versions hold no `#`, and only the last `@` counts.

/** The rules by which this code replays and writes history. A change that old code could not replay raises it. */
export const REPLAY_VERSION = 1;

export interface ReplayVersions {
  readonly min: number;
  readonly max: number;
}

/** Whose histories this code replays. A runtime registers it, so that others can tell why an instance waits. */
export const REPLAY_VERSIONS: ReplayVersions = { min: 1, max: REPLAY_VERSION };

export interface Target {
  readonly name: string;
  readonly version: string | null;
  readonly replayVersion: number;
}

export function targetText(name: string, version: string, replayVersion: number): string {
  return replayVersion <= 1 ? `${name}@${version}` : `${name}@${version}#${replayVersion}`;
}

/** The parts of a target; a name that holds an `@` of its own is told apart by what follows it. */
export function parseTarget(target: string): Target {
  const found = /^(?<name>.*)@(?<version>\d+\.\d+\.\d+[^@#]*)(?:#(?<replay>\d+))?$/su.exec(target);
  const { name = target, version = null, replay = "1" } = found?.groups ?? {};
  return { name, version, replayVersion: Number(replay) };
}

/** The target of a start, which may name a version. */
export function startTarget(name: string, version: string | null): string {
  return version === null ? name : targetText(name, version, REPLAY_VERSION);
}
