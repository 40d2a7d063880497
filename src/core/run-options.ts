// What a run is made of and what it hands out.

import type { Codec } from "./codec.ts";
import type { GuardName } from "./guard-names.ts";
import type { CommandBody, HistoryEvent, OrchestrationStarted } from "./history-events.ts";
import type { Limits } from "./limits.ts";
import type { LogFields, LogLevel } from "./log.ts";
import type { Run } from "./run.ts";

export interface RunOptions {
  readonly instanceId: string;
  readonly execution: number;
  /** The version of the code that runs it. */
  readonly version: string;
  readonly priority: number;
  readonly codec: Codec;
  /** Starts the code; its promise ends the run. */
  readonly main: (run: Run, started: OrchestrationStarted) => Promise<void>;
  /** The execution's history so far; empty for a first turn. */
  readonly history: readonly HistoryEvent[];
  /** Bytes of that history's rows before each row's first event: [first sequence, bytes]. */
  readonly rowBytes?: readonly (readonly [number, number])[];
  /** Events up to this one were copied by a fork: compared loosely, and what is open there is asked for anew. */
  readonly copiedUntil?: number;
  /** A replay beside the live run: nothing of what its code does is to be seen. */
  readonly isShadow?: boolean;
  /** Notes where calls come from; costs a stack each. */
  readonly captureSources?: boolean;
  /** The context was used outside a turn of this run: the run is blocked and somebody must record it. */
  readonly onMisuse?: (run: Run) => void;
  /** Default: those of semantics 9. One drain emits at most as many commands as a history has events. */
  readonly limits?: Limits;
  /** Told the value of every node of a flow as it ends; for replays that look for one. */
  readonly onNodeEnd?: (node: string, value: unknown) => void;
  /** Which guards against nondeterminism act while its code runs. */
  readonly guards?: ReadonlySet<GuardName>;
  /** Reads another instance's key: the one thing an orchestration may ask the store itself. */
  readonly readKeyValue?: (id: string, key: string) => Promise<string | undefined>;
}

/** A command as it stands in history; new: it was not there before. */
export interface Command<Body extends CommandBody> {
  readonly sequence: number;
  readonly body: Body;
  readonly isNew: boolean;
}

export interface BufferedLog {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}
