// Replaying many recorded histories with the code of today: what would break, where, and how.
//   RS1. One implementation: `perdure check` is this, with a screen.
//   RS2. Nothing is written, and no activity or step is entered (CR1).
//   RS3. A history whose orchestration and version nobody registers is told apart: it would wait, not break.

import type { BlockReason } from "../core/block.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import type { Provider } from "../core/provider/provider.ts";
import { checkReplay, REPLAY_OPTIONS, type ReplayOptions } from "../runtime/check-replay.ts";
import type { RecordedHistory } from "../runtime/recorded-history.ts";
import type { Registrable } from "../core/registrable.ts";
import { Registry } from "../runtime/registry.ts";
import { blockDiff } from "./block-diff.ts";
import { historiesIn, type FoundHistory } from "./history-sources.ts";

/** Files or folders of recorded histories, a store with all its instances, or histories themselves. */
export type HistorySource =
  string | readonly string[] | Provider | AsyncIterable<FoundHistory> | Iterable<FoundHistory>;

/** What a replay takes from the runtime that the code is for. */
export interface ReplayHistoriesOptions extends ReplayOptions {
  /** Which version a start by name takes, as in the runtime's options. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Called after each history. */
  readonly onReplayed?: (checked: ReplayedHistory) => void;
}
/** Which history, and where it came from. */
export interface ReplayedHistory {
  readonly id: string;
  readonly name: string;
  readonly version?: string;
  readonly execution: number;
  /** The file that it was read from; absent: a store, or the caller. */
  readonly file?: string;
}
/** A history that the code no longer replays. */
export interface BrokenHistory extends ReplayedHistory {
  readonly events: number;
  readonly reason: BlockReason;
  /** Both sides, line by line, for people. */
  readonly diff: readonly string[];
}
/** What was found. */
export interface ReplayReport {
  readonly checked: number;
  readonly ok: number;
  readonly broken: readonly BrokenHistory[];
  /** Nobody registers their orchestration and version: they would wait. */
  readonly unregistered: readonly ReplayedHistory[];
}

const HISTORIES_OPTIONS: Members<ReplayHistoriesOptions> = {
  ...REPLAY_OPTIONS,
  versions: true,
  onReplayed: true,
};

/** Replays histories with these orchestrations and tells which would be blocked, where, as a diff. */
export async function replayHistories(
  source: HistorySource,
  register: readonly Registrable[],
  options: ReplayHistoriesOptions = {},
): Promise<ReplayReport> {
  checkMembers(options, HISTORIES_OPTIONS, "replayHistories");
  const { versions, onReplayed, ...replay } = options;
  const registry = new Registry(register, versions === undefined ? {} : { versions });
  const broken: BrokenHistory[] = [];
  const unregistered: ReplayedHistory[] = [];
  let ok = 0;
  for await (const { recorded, file } of historiesIn(source)) {
    const checked = checkedOf(recorded, file);
    const definition = registry.orchestration(recorded.name, recorded.version);
    if (definition === undefined) unregistered.push(checked);
    else {
      const result = await checkReplay(recorded, definition, replay);
      if (result.kind === "ok") ok++;
      else {
        const { events, reason } = result;
        broken.push({ ...checked, events, reason, diff: blockDiff(reason) });
      }
    }
    onReplayed?.(checked);
  }
  return { checked: ok + broken.length + unregistered.length, ok, broken, unregistered };
}

function checkedOf(recorded: RecordedHistory, file: string | undefined): ReplayedHistory {
  const { id, name, version, execution } = recorded;
  return {
    id,
    name,
    ...(version === null ? {} : { version }),
    execution,
    ...(file === undefined ? {} : { file }),
  };
}
