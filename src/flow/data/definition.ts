// The definition of a flow: plain JSON that `build()` creates and the interpreter executes. It can be
// stored or sent.
//   - `definition.schema.json` describes the same format for other languages. A test compares the two.
//   - Durations are in milliseconds and retry policies are complete, so a later change of a default does
//        not change an existing definition.
//   - A task without `activity` runs an inline function of the flow, as an activity named `flow@hash8/path`
//        (semantics 23).

import type { ActivityOptions } from "../../core/history/events.ts";

export const DEFINITION_FORMAT = 1;

/** Plain JSON. */
export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A flow as data. */
export interface FlowDefinition {
  readonly format: typeof DEFINITION_FORMAT;
  readonly name: string;
  /** The author's version, without the hash. */
  readonly version: string;
  readonly description?: string;
  readonly metadata?: Json;
  /** The number of events after which a long flow compacts its history. Absent: the default. */
  readonly compactAfter?: number;
  readonly nodes: readonly FlowNode[];
}

/** The work of a task, a route's key, a map's items or a compensation. */
export interface WorkDefinition {
  /** The name of a registered activity. Absent: an inline function of the flow. */
  readonly activity?: string;
  readonly options?: ActivityOptions;
  /** The author's version of the function's behavior. Part of the hash. */
  readonly version?: string;
  readonly description?: string;
  readonly metadata?: Json;
}

export interface TaskNode extends WorkDefinition {
  readonly kind: "task";
  readonly id: string;
  readonly defer?: WorkDefinition;
}
export interface KeyedNodes {
  readonly key: string;
  readonly nodes: readonly FlowNode[];
}
export interface ForkNode {
  readonly kind: "fork";
  readonly id: string;
  readonly branches: readonly KeyedNodes[];
  readonly onError?: "settle";
}
export interface MapNode {
  readonly kind: "map";
  readonly id: string;
  readonly items: WorkDefinition;
  readonly concurrency: number;
  readonly onError?: "settle";
  readonly nodes: readonly FlowNode[];
}
export interface RouteNode {
  readonly kind: "route";
  readonly id: string;
  readonly key: WorkDefinition;
  readonly cases: readonly KeyedNodes[];
  readonly otherwise?: readonly FlowNode[];
  /** The output is { branch, result } instead of the result. */
  readonly envelope?: true;
}
export interface LoopNode {
  readonly kind: "loop";
  readonly id: string;
  readonly maxIterations: number;
  readonly onMax: "fail" | "exitWithLast";
  readonly nodes: readonly FlowNode[];
}
export interface DelayNode {
  readonly kind: "delay";
  readonly id: string;
  readonly delayMs: number;
}
export interface WaitNode {
  readonly kind: "wait";
  readonly id: string;
  readonly signal: string;
  readonly timeoutMs?: number;
  readonly onTimeout?: "continue";
}
export interface CallNode {
  readonly kind: "call";
  readonly id: string;
  readonly flow: string;
  readonly nodes: readonly FlowNode[];
  readonly defer?: WorkDefinition;
}
export interface ChildNode {
  readonly kind: "child";
  readonly id: string;
  readonly orchestration: string;
  readonly version?: string;
  readonly onParentClose?: "abandon";
  readonly priority?: number;
  readonly defer?: WorkDefinition;
}
export interface CatchNode {
  readonly kind: "catch";
  readonly id: string;
  /** The guarded nodes: all nodes before the catch on its level. */
  readonly nodes: readonly FlowNode[];
  readonly handler: readonly FlowNode[];
}

/** A node of a flow, with the nodes inside it. */
export type FlowNode =
  | TaskNode
  | ForkNode
  | MapNode
  | RouteNode
  | LoopNode
  | DelayNode
  | WaitNode
  | CallNode
  | ChildNode
  | CatchNode;
/** The kind of a node. */
export type NodeKind = FlowNode["kind"];
