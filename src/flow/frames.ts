// Where a running flow stands: one frame for every node that is under way, values and all.
//   FR1. At every moment at which no thread is running the frames say everything: a flow that is begun again from a copy
//        of them goes on where it stood. So a frame is changed before anybody can wait.
//   FR2. Stored behaviour: compaction writes frames down (semantics 26). Members are added, never renamed.

import type { CarriedResults } from "../core/carried-results.ts";
import type { Failure } from "../core/failure.ts";

export interface SequenceFrame {
  /** The node that is under way; one past the last: the value is the level's. */
  at: number;
  /** What goes into that node. */
  value: unknown;
  inner?: NodeFrame;
}
export interface DelayFrame {
  readonly due: number;
}
export interface WaitFrame {
  /** Waits of one signal are served in this order. */
  readonly order: number;
  readonly due?: number;
}
export interface ForkFrame {
  readonly branches: BranchFrame[];
}
/** A branch that failed, where failures are collected. */
export interface FailedFrame {
  readonly failed: { readonly failure: Failure; readonly node: string };
}
export type BranchFrame = SequenceFrame | FailedFrame;
export interface MapFrame {
  readonly items: readonly unknown[];
  /** The next item that nobody has begun. */
  next: number;
  readonly open: Record<number, SequenceFrame>;
  readonly ended: Record<number, unknown>;
}
export interface RouteFrame {
  readonly key: string;
  readonly level: SequenceFrame;
}
export interface LoopFrame {
  iteration: number;
  level: SequenceFrame;
}
export interface CallFrame {
  readonly level: SequenceFrame;
}
export interface CatchFrame {
  phase: "watched" | "handler";
  level: SequenceFrame;
}
export type NodeFrame =
  DelayFrame | WaitFrame | ForkFrame | MapFrame | RouteFrame | LoopFrame | CallFrame | CatchFrame;

export function begin(value: unknown): SequenceFrame {
  return { at: 0, value };
}

/** A compensation that is due if the flow fails: where it was asked for, and what it undoes. */
export interface UndoFrame {
  readonly path: string;
  readonly input: { readonly input: unknown; readonly output: unknown };
}

export interface FlowState extends CarriedResults {
  readonly format: 1;
  readonly frame: SequenceFrame;
  readonly undos: readonly UndoFrame[];
  /** The orders of waits that are open. */
  readonly waits: readonly number[];
}
