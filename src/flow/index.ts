// perdure/flow: flows, declared as data and run like orchestrations.

export { flow } from "./start.ts";
export { Flow, type FlowOptions, type FlowTypes } from "./flow.ts";
export type { Functions } from "./own-functions.ts";
export { FlowBuilder, StepBuilder } from "./builder.ts";
export type {
  Caught,
  ChildOptions,
  Envelope,
  ForkOptions,
  FunctionOptions,
  LoopOptions,
  MapOptions,
  RouteOptions,
  Settled,
  TaskOptions,
  Undo,
  WaitOptions,
} from "./builder-types.ts";
export type { FlowDefinition, FlowNode, Json, NodeKind } from "./definition.ts";
export { again, done, type Again, type Done, type LoopResult } from "./loop-result.ts";
export type { FlowNodeInfo } from "./node-list.ts";
export { runFlow, type RunFlowOptions } from "./run-flow.ts";
