// Replay of many recorded histories with the current code: reports the histories that would be blocked.
//   - `perdure check` uses this function and prints its report.
//   - A replay writes nothing and runs no activity and no step (carried-results.1).
//   - A history whose orchestration and version are not registered is reported separately: its instance would
//        wait, not be blocked.

import type { BlockReason } from "../core/history/block.ts";
import { checkMembers, type Members } from "../core/checks.ts";
import type { Provider } from "../core/provider/provider.ts";
import { defined } from "../core/values/defined.ts";
import { checkReplay, REPLAY_OPTIONS, type ReplayOptions } from "../runtime/replay/check-replay.ts";
import type { RecordedHistory } from "../runtime/replay/recorded-history.ts";
import type { Registrable } from "../core/define/registrable.ts";
import { Registry } from "../runtime/registry.ts";
import { blockDiff } from "./block-diff.ts";
import { historiesIn, type FoundHistory } from "./history-sources.ts";

/** Files or folders of recorded histories, a store with all its instances, or an iterable of histories. */
export type HistorySource =
  string | readonly string[] | Provider | AsyncIterable<FoundHistory> | Iterable<FoundHistory>;

/** Options of `replayHistories`. */
export interface ReplayHistoriesOptions extends ReplayOptions {
  /** The version that a start by name selects, as in the runtime's options. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Called after each history. */
  readonly onReplayed?: (checked: ReplayedHistory) => void;
}
/** A replayed history and its origin. */
export interface ReplayedHistory {
  readonly id: string;
  readonly name: string;
  readonly version?: string;
  readonly execution: number;
  /** The file of the history; absent if it came from a store or from the caller. */
  readonly file?: string;
}
/** A history that the current code cannot replay. */
export interface BrokenHistory extends ReplayedHistory {
  readonly events: number;
  readonly reason: BlockReason;
  /** The recorded and the requested command as lines of text. */
  readonly diff: readonly string[];
}
/** The result of `replayHistories`. */
export interface ReplayReport {
  readonly checked: number;
  readonly ok: number;
  readonly broken: readonly BrokenHistory[];
  /** Histories whose orchestration and version are not registered: their instances would wait. */
  readonly unregistered: readonly ReplayedHistory[];
}

const HISTORIES_OPTIONS: Members<ReplayHistoriesOptions> = {
  ...REPLAY_OPTIONS,
  versions: true,
  onReplayed: true,
};

/** Replays histories with these orchestrations and reports which would be blocked, and where, as a diff. */
export async function replayHistories(
  source: HistorySource,
  register: readonly Registrable[],
  options: ReplayHistoriesOptions = {},
): Promise<ReplayReport> {
  checkMembers(options, HISTORIES_OPTIONS, "replayHistories");
  const { versions, onReplayed, ...replay } = options;
  const registry = new Registry(register, defined({ versions }));
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
    ...defined({ file }),
  };
}
