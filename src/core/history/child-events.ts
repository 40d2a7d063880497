// History events of children, and of detached instances (events.ts).

import type { StoredAttributes } from "../define/attributes.ts";
import type { Failure } from "../errors/failure.ts";
import type { ConflictPolicy } from "../provider/commit.ts";
import type { OfNode } from "./events.ts";
import type { MayBeReplaced } from "./repair-records.ts";

export interface ChildScheduled extends OfNode {
  readonly kind: "ChildScheduled";
  readonly name: string;
  readonly orchestrationVersion?: string;
  readonly id: string;
  /** Set if the caller chose the id. Replay does not compare a derived id. */
  readonly explicitId?: true;
  readonly input: string;
  readonly onParentClose?: "abandon";
  /** Absent: the priority of the parent. */
  readonly priority?: number;
  readonly attributes?: StoredAttributes;
  /** The child begins after this time, by the store's clock. */
  readonly delayMs?: number;
  /** Codec text of the context of the new instance. Absent: the context of the instance that starts it. */
  readonly context?: string;
  /** The child checks its input, which is as the caller gave it. Absent in histories of older versions. */
  readonly unchecked?: true;
}
export interface ChildCompleted extends MayBeReplaced {
  readonly kind: "ChildCompleted";
  readonly scheduled: number;
  readonly output: string;
}
export interface ChildFailed {
  readonly kind: "ChildFailed";
  readonly scheduled: number;
  readonly outcome: "failed" | "cancelled" | "terminated";
  readonly failure: Failure;
}
export interface ChildCancelRequested {
  readonly kind: "ChildCancelRequested";
  readonly scheduled: number;
  readonly reason: string;
}
export interface DetachedStarted {
  readonly kind: "DetachedStarted";
  readonly name: string;
  readonly orchestrationVersion?: string;
  readonly id: string;
  readonly input: string;
  /** Absent: the priority of the instance that starts it. */
  readonly priority?: number;
  readonly attributes?: StoredAttributes;
  readonly delayMs?: number;
  /** As for `ChildScheduled`. */
  readonly context?: string;
  /** What happens if the id is taken. Absent in older histories, whose detached starts have no outcome. */
  readonly onConflict?: ConflictPolicy;
  /** As for `EventRaised`. */
  readonly quiet?: true;
  /** As for `ChildScheduled`. */
  readonly unchecked?: true;
}
