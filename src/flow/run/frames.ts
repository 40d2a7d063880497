// Frames: the state of a running flow, one frame per running node, with its values.
//   - frames.1: Whenever no thread is running, the frames contain the complete state: a flow that starts
//        from a copy of them continues at the same point. A node must therefore update its frame before it
//        waits.
//   - Compaction stores frames (semantics 26). Members may be added, but never renamed.

import type { CarriedResults } from "../../core/history/carried-results.ts";
import type { Failure } from "../../core/errors/failure.ts";

export interface SequenceFrame {
  /** The index of the running node. After the last node: the level has ended, and `value` is its output. */
  at: number;
  /** The input of that node. */
  value: unknown;
  inner?: NodeFrame;
}
export interface DelayFrame {
  readonly due: number;
}
export interface WaitFrame {
  /** Waits for the same signal receive messages in this order. */
  readonly order: number;
  readonly due?: number;
}
export interface ForkFrame {
  readonly branches: BranchFrame[];
}
/** A failed branch of a fork with `onError: "settle"`. */
export interface FailedFrame {
  readonly failed: { readonly failure: Failure; readonly node: string };
}
export type BranchFrame = SequenceFrame | FailedFrame;
export interface MapFrame {
  readonly items: readonly unknown[];
  /** The index of the next item to begin. */
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

export function newFrame(value: unknown): SequenceFrame {
  return { at: 0, value };
}

/** A compensation to run if the flow fails: its path, and the input and output of its step. */
export interface UndoFrame {
  readonly path: string;
  readonly input: { readonly input: unknown; readonly output: unknown };
}

export interface FlowState extends CarriedResults {
  readonly format: 1;
  readonly frame: SequenceFrame;
  readonly undos: readonly UndoFrame[];
  /** The order numbers of the open waits. */
  readonly waits: readonly number[];
}
