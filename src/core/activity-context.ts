// What an activity and a step see of the engine while they run.

import type { Logger } from "./log.ts";

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
}

/** What the function given to `ctx.step` receives. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly log: Logger;
}
