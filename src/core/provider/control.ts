// Control items: commit items with which a client or a runtime controls an instance (commit.ts).

import type { StoredAttributes } from "../define/attributes.ts";
import type { HistoryRow } from "../history/rows.ts";
import type { StoredKeyValue } from "../history/events.ts";
import type { KeptMessage, MessageKind } from "./messages.ts";

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

/**
 * Begins the next execution of ended or blocked instances with a copied past (semantics 21b, commit.8). All targets are
 * written, or none.
 */
export interface RewindItem {
  readonly kind: "rewind";
  /** One of the targets: the instance that the call is about. */
  readonly id: string;
  /** A repeated item with this id changes nothing and returns the first result. */
  readonly requestId: string;
  /** A child that is rewound together with its parent comes after its parent. */
  readonly targets: readonly RewindTarget[];
}
/** One instance of a rewind: what the store compares, and what its next execution begins with. */
export interface RewindTarget {
  readonly id: string;
  readonly runId: string;
  /** The execution that has ended or is blocked, and its last event. */
  readonly execution: number;
  readonly lastEvent: number;
  /** JSON text of OrchestrationFailed: how a blocked execution ends. Null: the execution has ended. */
  readonly terminated: string | null;
  /** The history of the next execution, from event 1 on. */
  readonly rows: readonly HistoryRow[];
  readonly keyValues: readonly StoredKeyValue[];
  readonly status: string | null;
  readonly attributes: StoredAttributes;
  /** JSON text of the OrchestrationCancelRequested in the copied past; null: there is none. */
  readonly cancelRequested: string | null;
  /** The streams that are closed at the end of the copied past. All others are opened. */
  readonly closedStreams: readonly string[];
  /** Events that go back to the inbox, in front of those that wait there. */
  readonly events: readonly KeptMessage[];
  /** Outcomes for the next execution, in order. */
  readonly outcomes: readonly KeptOutcome[];
  /** The id of the newest outcome in the inbox of a blocked instance when the item was made; 0: there was none. */
  readonly lastOutcome: number;
  /** Children that must not have ended: the copied past waits for them. */
  readonly liveChildren: readonly string[];
  /** Children that the dropped part of the history called and that still run. They are cancelled. */
  readonly cancelledChildren: readonly string[];
  /** JSON text of OrchestrationCancelRequested for them. */
  readonly childRequest: string;
  /** Whether its parent is a target too. */
  readonly withParent: boolean;
  /** The execution of its parent that does not wait for the end of the instance; null: it may wait. */
  readonly unawareParent: number | null;
}
/** The outcome of a call of a copied past. */
export interface KeptOutcome {
  readonly kind: Extract<MessageKind, "activity" | "step" | "child" | "answer" | "sent" | "timer">;
  /** The event that scheduled the call. */
  readonly sequence: number;
  /** JSON text of the event that the message becomes; empty for a timer. */
  readonly data: string;
}
/** The result of a rewind. */
export type RewindResult =
  | {
      readonly kind: "rewound";
      /** The execution of the instance `id` that began. */
      readonly execution: number;
    }
  | {
      readonly kind: "refused";
      /**
       * INSTANCE_RUNNING: a target, or a child of one, is not as the item says. PARENT_INFORMED: the parent of a target
       * has received its end, or has ended itself.
       */
      readonly code: "INSTANCE_NOT_FOUND" | "INSTANCE_RUNNING" | "PARENT_INFORMED";
      /** The instance that is not as the item says. */
      readonly id: string;
    };
