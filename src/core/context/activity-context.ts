// The contexts of activities and steps: what their functions receive while they run.

import type { AnyStream, StreamWritten } from "../define/stream.ts";
import type { CallbackAddress } from "../define/callback.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ContextValues, ServiceValues } from "./app-types.ts";

/**
 * Types of other layers that the context exposes. Each layer adds its own by declaration merging
 * (client/client.ts).
 */
export interface LinkedTypes {}
/** The package's `Client`. */
export type ActivityClient = LinkedTypes extends { readonly client: infer C } ? C : unknown;

/** The call that an activity executes, and the worker that runs it. */
export interface ActivityInfo {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestration: string;
  readonly orchestrationVersion: string;
  readonly activity: string;
  /** The sequence number of the call in the history. With instance and execution it identifies the call. */
  readonly sequence: number;
  readonly worker: string;
  readonly priority: number;
  /** Sorted. */
  readonly tags: readonly string[];
  readonly session: string | undefined;
  /** Set for a node of a flow: its path, and the metadata of the node and of the flow. */
  readonly flow?: {
    readonly node: string;
    readonly metadata: unknown;
    readonly flowMetadata: unknown;
  };
}

/**
 * Writes the values of one attempt to a stream of its instance. When the attempt has ended, what it wrote is in the
 * store before its outcome is.
 */
export interface StreamWriter<Written> extends AsyncDisposable {
  /**
   * Appends a value. It resolves at once unless much is unwritten; then it waits. Rejects if the value cannot be
   * stored, if the stream is closed, or if the attempt is over.
   */
  write(value: Written): Promise<void>;
  /** Resolves when everything written so far is in the store. */
  flush(): Promise<void>;
  /** Flushes, and accepts no further values. The stream itself stays open. */
  close(): Promise<void>;
}

/** What an activity's function receives. Its members are bound: they can be destructured. */
export interface ActivityContext {
  /** Aborted, with the reason, when the call is cancelled or timed out, or when the worker lost its lease. */
  readonly signal: AbortSignal;
  /** 1 for the first run of the call; each further run adds 1. */
  readonly attempt: number;
  /** The same for all attempts of one call, and different for every other call. */
  readonly idempotencyKey: string;
  readonly info: ActivityInfo;
  readonly log: Logger;
  /**
   * Reports that the attempt is alive. The store keeps the details for the next attempt, written at most once
   * a second.
   */
  readonly heartbeat: (details?: unknown) => void;
  /** The last details of an earlier attempt, or undefined. */
  readonly lastHeartbeat: unknown;
  /**
   * Reports progress to `handle.watch()` and `describe().waitingFor`. It also counts as a heartbeat. The last
   * value is written, at most four times a second.
   */
  readonly progress: (value: unknown) => void;
  /**
   * A writer to a stream of this instance, for readers outside: `handle.stream()`. If the call runs again, readers
   * get a reset first, which voids what earlier runs of this call wrote.
   */
  readonly stream: <S extends AnyStream | string>(stream: S) => StreamWriter<StreamWritten<S>>;
  /**
   * The call completes later: the value that the function returns is ignored, and a call from outside completes the
   * activity (`client.complete`, or a POST to the address). An error that the function throws is still a failed attempt.
   */
  readonly completeLater: () => CallbackAddress;
  /** A client on the store that contains this call. */
  readonly client: ActivityClient;
  /** The context of the instance that made the call. Empty if it has none. */
  readonly context: ContextValues;
  /** The services that the worker was opened with. Reading one that it lacks throws `NOT_CONFIGURED`. */
  readonly services: ServiceValues;
}

/** What the function of `ctx.step` receives. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly log: Logger;
  /** The context of the instance. Empty if it has none. */
  readonly context: ContextValues;
  /** The services that the worker was opened with, as for an activity. */
  readonly services: ServiceValues;
}
