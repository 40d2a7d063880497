// Perdure's public surface: what `import … from "perdure"` offers.
import "./node-version.ts";

export { Perdure, type OpenOptions } from "./perdure.ts";
export { defineConfig, type PerdureConfig } from "./config.ts";
export {
  moveStore,
  unmarkStore,
  type MoveOptions,
  type MoveProgress,
  type MoveResult,
} from "./move-store.ts";
export { planMove, type MovePlan } from "./move-plan.ts";
export type { TableSum } from "./client/move-check.ts";
export type { InstanceList, ListOptions, PruneOptions, RuntimeInfo } from "./client/admin.ts";
export type { ListFilter } from "./client/list-filter.ts";
export {
  Client,
  type ClientOptions,
  type ForkOptions,
  type StartOptions,
} from "./client/client.ts";
export type { InstanceTree } from "./client/tree.ts";
export { Handle, type RaiseOptions, type ResultOptions, type Why } from "./client/handle.ts";
export type { WaitOptions } from "./client/waiting.ts";
export { NodeHandle, type NodeInfo } from "./client/node-handle.ts";
export type { CompletedWork } from "./client/completed-work.ts";
export type { UnreadEvent, UnreadOptions, UnreadPage } from "./client/unread.ts";
export type { ExecutionInfo } from "./client/executions.ts";
export type { Metrics, QueueInfo, UnclaimedWork } from "./client/unclaimed.ts";
export type {
  InstanceInfo,
  InstanceSummary,
  PublicStatus,
  WaitingFor,
} from "./client/instance-info.ts";
export type { ActivityContext, ActivityInfo, StepContext } from "./core/activity-context.ts";
export type { RegisteredWork } from "./core/claimable.ts";
export type { Definition, DefinitionModule, Registrable } from "./core/registrable.ts";
export type { BlockReason } from "./core/block.ts";
export { consoleLog, type ConsoleLogOptions } from "./core/console-log.ts";
export { defaultCodec, type Codec, type RowSeal } from "./core/codec.ts";
export type {
  Branch,
  CallOptions,
  DetachedOptions,
  EventOptions,
  KeyValues,
  OrchestrationContext,
  OrchestrationInfo,
  StepOptions,
  Task,
} from "./core/context-types.ts";
export {
  activity,
  event,
  orchestration,
  type Activity,
  type ActivityDefaults,
  type EventDef,
  type Orchestration,
  type OrchestrationOptions,
  type RunOptions,
} from "./core/definitions.ts";
export type { Duration } from "./core/duration.ts";
export {
  threads,
  type Executor,
  type ExecutorFunction,
  type ExecutorTask,
  type Threads,
  type ThreadsOptions,
} from "./core/executor.ts";
export type { Environment } from "./core/environment.ts";
export { ERROR_CODES, isPerdureError, PerdureError, type ErrorCode } from "./core/errors.ts";
export type { Failure } from "./core/failure.ts";
export type { EventKind, HistoryEvent } from "./core/history-events.ts";
export type { Limits } from "./core/limits.ts";
export type { LogFields, Logger, LogLevel, LogSink } from "./core/log.ts";
export { CancelledError, OrchestrationError } from "./core/outcome-errors.ts";
export type * from "./core/provider/index.ts";
export { NonRetryableError, RetryAfterError } from "./core/retry-errors.ts";
export type { Retry, RetryOptions } from "./core/retry-policy.ts";
export type { StandardSchema } from "./core/standard-schema.ts";
export type { Telemetry } from "./core/telemetry.ts";
export { ActivityError, ChildError, StepError } from "./core/task-errors.ts";
export type { TagFilter } from "./core/provider/tasks.ts";
export { again, done, Flow, flow, runFlow } from "./flow/index.ts";
export type { RuntimeOptions } from "./runtime/options.ts";
export type { Retention, Unregistered } from "./runtime/policies.ts";
export type { ShadowReplay } from "./runtime/shadowing.ts";
export { Runtime } from "./wired-runtime.ts";
