// What an activity and a step see of the engine while they run.

import type { Logger } from "./log.ts";

/** Types that other layers own and the context shows; they add themselves (client/client.ts). */
export interface LinkedTypes {}
/** The package's `Client`. */
export type ActivityClient = LinkedTypes extends { readonly client: infer C } ? C : unknown;

/** Whose call an activity carries out, and where. */
export interface ActivityInfo {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestration: string;
  readonly orchestrationVersion: string;
  readonly activity: string;
  /** The call's place in its history; with the instance and execution it names the call. */
  readonly sequence: number;
  readonly worker: string;
  readonly priority: number;
  /** Sorted. */
  readonly tags: readonly string[];
  readonly session: string | undefined;
  /** Set for a step of a flow: its path, and the metadata of the step and of the flow. */
  readonly flow?: {
    readonly node: string;
    readonly metadata: unknown;
    readonly flowMetadata: unknown;
  };
}

/** Members are bound: they may be taken apart. */
export interface ActivityContext {
  /** Aborted when the call is cancelled, timed out or its lease was lost, with the reason. */
  readonly signal: AbortSignal;
  /** 1 for the first run; every later run of the same call counts up. */
  readonly attempt: number;
  /** The same for every attempt of one call, and for no other call. */
  readonly idempotencyKey: string;
  readonly info: ActivityInfo;
  readonly log: Logger;
  /** Says that the work goes on; details are kept for the next attempt, written at most once a second. */
  readonly heartbeat: (details?: unknown) => void;
  /** The details that an earlier attempt gave last, or undefined. */
  readonly lastHeartbeat: unknown;
  /**
   * Tells watchers how far the work is: `handle.watch()`, `describe().waitingFor`. Also a sign of life. Written at
   * most four times a second, the last value.
   */
  readonly progress: (value: unknown) => void;
  /** A client on the store that this activity's call is in. */
  readonly client: ActivityClient;
}

/** What the function given to `ctx.step` receives. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly log: Logger;
}
