// The public API of Perdure: the exports of `import … from "perdure"`.
import "./node-version.ts";

export { defineConfig, Perdure, type OpenOptions, type PerdureConfig } from "./perdure.ts";
export {
  moveStore,
  unmarkStore,
  type MoveOptions,
  type MoveProgress,
  type MoveResult,
} from "./move-store.ts";
export { planMove, type MovePlan } from "./move-plan.ts";
export type { TableSum } from "./client/move/move-check.ts";
export type { InstanceList, ListOptions, PruneOptions, RuntimeInfo } from "./client/admin.ts";
export type { ListFilter } from "./client/list-filter.ts";
export {
  Client,
  type AskStartOf,
  type ClientAskOptions,
  type ClientOptions,
  type ForkOptions,
} from "./client/client.ts";
export type { CompleteOptions, CompleteResult, TokenInfo } from "./client/callbacks/complete.ts";
export type { StartOptions } from "./client/start-item.ts";
export type { AskOptions } from "./client/ask-item.ts";
export type { InstanceTree } from "./client/inspect/tree.ts";
export { Handle, type RaiseOptions, type ResultOptions, type Why } from "./client/handle.ts";
export type { WaitOptions } from "./client/waiting.ts";
export { NodeHandle, type NodeInfo } from "./client/inspect/node-handle.ts";
export type { CompletedWork } from "./client/inspect/completed-work.ts";
export type { KeptEvent, KeptOptions, KeptPage } from "./client/inspect/kept.ts";
export type {
  RefusedData,
  UnreadEvent,
  UnreadOptions,
  UnreadPage,
} from "./client/inspect/unread.ts";
export type { ExecutionInfo } from "./client/inspect/executions.ts";
export type { Metrics, QueueInfo, UnclaimedWork } from "./client/inspect/unclaimed.ts";
export type {
  InstanceInfo,
  InstanceSummary,
  PublicStatus,
  WaitingFor,
} from "./client/inspect/instance-info.ts";
export type {
  ActivityContext,
  ActivityInfo,
  StepContext,
} from "./core/context/activity-context.ts";
export type { RegisteredWork } from "./core/define/work-matching.ts";
export type { Definition, DefinitionModule, Registrable } from "./core/define/registrable.ts";
export type { BlockReason } from "./core/history/block.ts";
export { consoleLog, type ConsoleLogOptions } from "./core/telemetry/console-log.ts";
export { defaultCodec, type Codec, type RowSeal } from "./core/values/codec.ts";
export type {
  Branch,
  AskStartOptions,
  CallOptions,
  ContextAskOptions,
  ContextRaiseOptions,
  DetachedOptions,
  DetachedOutcome,
  RequestCall,
  ServeOptions,
  WaitForOptions,
  KeyValues,
  OrchestrationContext,
  OrchestrationInfo,
  StepOptions,
  Task,
} from "./core/context/types.ts";
export {
  activity,
  event,
  orchestration,
  type Activity,
  type ActivityDefaults,
  type EventDef,
  type OpenedStore,
  type Orchestration,
  type OrchestrationOptions,
  type RunOptions,
} from "./core/define/definitions.ts";
export type { CallbackOptions, CallbackTask } from "./core/context/callback-types.ts";
export type { CallbackAddress, CallbackDef, CallbackSettings } from "./core/define/callback.ts";
export type { EntityDef } from "./core/define/entity.ts";
export {
  request,
  value,
  type RequestDef,
  type RequestOptions,
  type ValueDef,
  type ValueOptions,
} from "./core/define/request.ts";
export type { Duration } from "./core/time/duration.ts";
export {
  threads,
  type Executor,
  type ExecutorFunction,
  type ExecutorTask,
  type Threads,
  type ThreadsOptions,
} from "./core/define/executor.ts";
export type { Environment } from "./core/time/environment.ts";
export { ERROR_CODES, isPerdureError, PerdureError, type ErrorCode } from "./core/errors/errors.ts";
export type { Failure } from "./core/errors/failure.ts";
export type { EventKind, HistoryEvent } from "./core/history/events.ts";
export type { Limits } from "./core/values/limits.ts";
export type { LogFields, Logger, LogLevel, LogSink } from "./core/telemetry/log.ts";
export { CancelledError, OrchestrationError } from "./core/errors/outcome-errors.ts";
export type * from "./core/provider/index.ts";
export { RequestError } from "./core/errors/request-error.ts";
export { NonRetryableError, RetryAfterError } from "./core/errors/retry-errors.ts";
export type { Attempts, RetryOptions } from "./core/define/retry-policy.ts";
export type { StandardSchema } from "./core/values/standard-schema.ts";
export type { Telemetry } from "./core/telemetry/telemetry.ts";
export { ActivityError, ChildError, StepError } from "./core/errors/task-errors.ts";
export type { TagFilter } from "./core/provider/tasks.ts";
export type { RuntimeOptions } from "./runtime/options.ts";
export type { Retention, Unregistered } from "./runtime/policies.ts";
export type { ShadowReplay } from "./runtime/replay/shadowing.ts";
export { Runtime } from "./wired-runtime.ts";
