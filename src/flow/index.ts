// perdure/flow: flows are orchestrations declared as data. README.md describes the folder.

export { flow } from "./build/start.ts";
export { Flow, type FlowOptions, type FlowTypes } from "./flow.ts";
export type { Functions } from "./run/own-functions.ts";
export { FlowBuilder, StepBuilder } from "./build/builder.ts";
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
} from "./build/builder-types.ts";
export type { FlowDefinition, FlowNode, Json, NodeKind } from "./data/definition.ts";
export { again, done, type Again, type Done, type LoopResult } from "./run/loop-result.ts";
export type { FlowNodeInfo } from "./data/node-list.ts";
export { runFlow, type RunFlowOptions } from "./memory/run-flow.ts";
