// Control items: commit items with which a client or a runtime controls an instance (commit.ts).

/**
 * Pauses an instance: no further turn is committed until it is resumed (semantics 20). Pausing twice
 * keeps the first reason.
 */
export interface PauseItem {
  readonly kind: "pause";
  readonly id: string;
  /** JSON text { reason, by?, at }. */
  readonly info: string;
}
/** Lifts a pause. */
export interface ResumeItem {
  readonly kind: "resume";
  readonly id: string;
}
/**
 * Removes a block and resets the suspicion and quarantine of the instance. Any runtime that registers it
 * may lease it again.
 */
export interface UnblockItem {
  readonly kind: "unblock";
  readonly id: string;
}
/** Requests the cancellation of an instance. Its code may clean up. */
export interface CancelItem {
  readonly kind: "cancel";
  readonly id: string;
  /** JSON text of OrchestrationCancelRequested. */
  readonly request: string;
  /**
   * JSON text of OrchestrationFailed: how a blocked instance ends, without running its code (semantics
   * 19a).
   */
  readonly cancelled: string;
}
/** Ends an instance at once, without running its code. */
export interface TerminateItem {
  readonly kind: "terminate";
  readonly id: string;
  readonly status: "terminated" | "failed";
  /** JSON text of OrchestrationFailed. */
  readonly terminated: string;
  /** JSON text of OrchestrationCancelRequested for children that are not abandoned. */
  readonly childRequest: string;
}
/** Blocks an instance that cannot continue. */
export interface BlockItem {
  readonly kind: "block";
  readonly key: number;
  readonly token: number;
  /** JSON text for people and tools; `null` removes a block. */
  readonly reason: string;
  /** The runtime that found the block. It does not try again (semantics 5). */
  readonly by: string;
  /**
   * Set for a quarantine: the code it was found under. No runtime that registers the same code tries
   * again (9a, provider.instances.5).
   */
  readonly code?: string;
}
