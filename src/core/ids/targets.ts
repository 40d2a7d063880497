// Targets: what a runtime must register to take an instance (semantics 22), as a text that stores compare.
//   - `name`: a start without a version. `name@version`: a pinned version. `name@version#2`: a pinned version
//        whose history was written under replay version 2. Versions contain no `#`, and only the last `@`
//        separates.

import { REPLAY_VERSION } from "../history/replay-version.ts";

export interface Target {
  readonly name: string;
  readonly version: string | null;
  readonly replayVersion: number;
}

export function targetText(name: string, version: string, replayVersion: number): string {
  return replayVersion <= 1 ? `${name}@${version}` : `${name}@${version}#${replayVersion}`;
}

/** The parts of a target. An `@` inside the name is not followed by a version, which distinguishes it. */
export function parseTarget(target: string): Target {
  const found = /^(?<name>.*)@(?<version>\d+\.\d+\.\d+[^@#]*)(?:#(?<replay>\d+))?$/su.exec(target);
  const { name = target, version = null, replay = "1" } = found?.groups ?? {};
  return { name, version, replayVersion: Number(replay) };
}

/** The target of a start; `version` is null if the start named none. */
export function startTarget(name: string, version: string | null): string {
  return version === null ? name : targetText(name, version, REPLAY_VERSION);
}
