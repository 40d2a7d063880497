// The options of a run, and the types that a run returns.

import type { Codec } from "../values/codec.ts";
import type { CallbackSigner } from "../define/callback.ts";
import type { GuardName } from "../define/guard-names.ts";
import type { CommandBody, HistoryEvent, OrchestrationStarted } from "../history/events.ts";
import type { Limits } from "../values/limits.ts";
import type { LogFields, LogLevel } from "../telemetry/log.ts";
import type { StandardSchema } from "../values/standard-schema.ts";
import type { Run } from "./run.ts";

export interface RunOptions {
  readonly instanceId: string;
  readonly execution: number;
  /** The version of the code that runs the execution. */
  readonly version: string;
  readonly priority: number;
  readonly codec: Codec;
  /** The schema that checks the input of a start (received.1). */
  readonly inputSchema?: StandardSchema | undefined;
  /** Runs the code. When its promise resolves, the run has ended. */
  readonly main: (run: Run, started: OrchestrationStarted) => Promise<void>;
  /** The history of the execution; empty for its first turn. */
  readonly history: readonly HistoryEvent[];
  /** For each row of the history: its first sequence number, and the bytes of the rows before it. */
  readonly rowBytes?: readonly (readonly [number, number])[];
  /**
   * A fork copied the events up to this one. They are compared less strictly, and their open tasks are
   * scheduled again.
   */
  readonly copiedUntil?: number;
  /** A second replay that checks the live run. Nothing that its code does has an effect. */
  readonly isShadow?: boolean;
  /** Whether to capture the source line of each call. It costs a stack trace per call. */
  readonly captureSources?: boolean;
  /**
   * Called when the context was used outside a turn. The run is blocked, and the caller must store the block.
   */
  readonly onMisuse?: (run: Run) => void;
  /** Default: the limits of semantics 9. `historyEventsMax` also bounds the commands of one drain. */
  readonly limits?: Limits;
  /** Called with the value of every node of a flow when the node ends, for replays that read these values. */
  readonly onNodeEnd?: (node: string, value: unknown) => void;
  /** Signs the addresses of new callbacks; absent: the worker has no settings for them (callback-calls.2). */
  readonly callbacks?: CallbackSigner;
  /** The guards against nondeterminism that are active while the code runs. */
  readonly guards?: ReadonlySet<GuardName>;
  /**
   * Reads a key of another instance. This is the only read of the store that an orchestration can request.
   */
  readonly readKeyValue?: (id: string, key: string) => Promise<string | undefined>;
}

/** A command in the history. `isNew`: this turn appended it. */
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
