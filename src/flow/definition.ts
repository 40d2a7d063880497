// A flow as data: what `build()` makes, what is stored or sent elsewhere, and what the interpreter walks.
//   DF1. Plain JSON. `definition.schema.json` says the same for other languages; a test holds the two together.
//   DF2. Durations are milliseconds, retries are complete policies: a later default reaches no definition made before.
//   DF3. A task without `activity` is the flow's own function, an activity named `flow@hash8/path` (semantics 23).

import type { ActivityOptions } from "../core/history-events.ts";

export const DEFINITION_FORMAT = 1;

/** Plain JSON. */
export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A flow as data. */
export interface FlowDefinition {
  readonly format: typeof DEFINITION_FORMAT;
  readonly name: string;
  /** The author's own, without the hash. */
  readonly version: string;
  readonly description?: string;
  readonly metadata?: Json;
  /** Events after which a long flow compacts itself, where that is not the default. */
  readonly compactAfter?: number;
  readonly nodes: readonly FlowNode[];
}

/** What is run for a task, a route's key, a map's items or a compensation. */
export interface WorkDefinition {
  /** An activity that is registered by this name; absent: a function of the flow's own. */
  readonly activity?: string;
  readonly options?: ActivityOptions;
  /** The author's mark for "another behaviour": part of the hash. */
  readonly version?: string;
  readonly description?: string;
  readonly metadata?: Json;
}

export interface TaskNode extends WorkDefinition {
  readonly kind: "task";
  readonly id: string;
  readonly defer?: WorkDefinition;
}
export interface Keyed {
  readonly key: string;
  readonly nodes: readonly FlowNode[];
}
export interface ForkNode {
  readonly kind: "fork";
  readonly id: string;
  readonly branches: readonly Keyed[];
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
  readonly cases: readonly Keyed[];
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
  /** What is watched over: everything before it on its level. */
  readonly nodes: readonly FlowNode[];
  readonly handler: readonly FlowNode[];
}

/** A node of a flow, with the nodes below it. */
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
/** What a node does. */
export type NodeKind = FlowNode["kind"];
