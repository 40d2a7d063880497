// The public API of Perdure: the exports of `import … from "perdure"`.
import "./core/node-version.ts";

export { defineConfig, Perdure, type OpenOptions, type PerdureConfig } from "./perdure.ts";
export {
  moveStore,
  unmarkStore,
  type MoveOptions,
  type MoveProgress,
  type MoveResult,
} from "./move/move-store.ts";
export { planMove, type MovePlan } from "./move/move-plan.ts";
export type { TableSum } from "./move/move-check.ts";
export type { AskStartOf, ClientAskOptions } from "./client/calls/ask-start.ts";
export type { AttributesWhere, AttributeTests } from "./client/attribute-where.ts";
export type {
  CountsOptions,
  InstanceCount,
  InstanceList,
  ListOptions,
  ListQuery,
  PruneOptions,
  RuntimeInfo,
} from "./client/admin.ts";
export type { ListFilter } from "./client/list-filter.ts";
export { Client, type ClientOptions } from "./client/client.ts";
export type { BulkReport, RefusedInstance } from "./client/bulk/apply.ts";
export type {
  ControlManyOptions,
  RaiseManyOptions,
  RestartManyOptions,
} from "./client/bulk/control-many.ts";
export type { PruneManyOptions, RemovedMany } from "./client/bulk/remove-many.ts";
export type { RewindManyOptions } from "./client/bulk/rewind-many.ts";
export type { BulkFilter, BulkOptions } from "./client/bulk/selection.ts";
export type { StartManyItem, StartManyOptions } from "./client/bulk/start-many.ts";
export type { ForkOptions } from "./client/repair/fork.ts";
export type { RestartOptions } from "./client/repair/restart.ts";
export type {
  RepairCheck,
  RepairOptions,
  RewindOptions,
  RewindReport,
  RewoundInstance,
} from "./client/repair/rewind.ts";
export type { CutPoint, RewindPoint } from "./core/repair/cut.ts";
export type { PastPreview, PastWork } from "./core/repair/preview.ts";
export type { Replacement } from "./core/repair/replace.ts";
export type { CompleteOptions, CompleteResult, TokenInfo } from "./client/callbacks/complete.ts";
export type { StartOptions } from "./client/start-item.ts";
export type { AskOptions } from "./client/calls/ask-item.ts";
export type { InstanceTree } from "./client/inspect/tree.ts";
export { Handle, type ResultOptions, type Why } from "./client/handle.ts";
export type { RaiseOptions } from "./client/calls/raise.ts";
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
export type { CancelInfo, InterruptedCall } from "./client/inspect/cancelled.ts";
export type { ExecutionInfo } from "./client/inspect/executions.ts";
export type { Metrics, UnclaimedWork } from "./client/inspect/unclaimed.ts";
export type { PauseQueueOptions } from "./client/queues/pause-queue.ts";
export type { QueueDetail, QueueInfo, QueueKind, QueuePause } from "./client/queues/read-queues.ts";
export type { RetryFailedOptions } from "./client/queues/retry-failed.ts";
export type {
  InstanceInfo,
  InstanceSummary,
  PublicStatus,
  RepairInfo,
  WaitingFor,
} from "./client/inspect/instance-info.ts";
export type {
  ActivityContext,
  ActivityInfo,
  StepContext,
} from "./core/context/activity-context.ts";
export type {
  Context,
  ContextInput,
  ContextValues,
  Services,
  ServiceValues,
} from "./core/context/app-types.ts";
export type {
  ActivityCall,
  AskCall,
  AttemptOptions,
  Middleware,
  Next,
  RaiseCall,
  StartCall,
  StartedInstances,
  StepCall,
} from "./core/middleware/middleware.ts";
export type { Attributes, AttributeValue } from "./core/define/attributes.ts";
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
export { job, type JobKeep, type JobOptions } from "./core/define/job.ts";
export type { Fairness, QueueLimit } from "./core/define/queue-settings.ts";
export type { EnqueueOptions } from "./client/jobs/job-item.ts";
export type { EnqueueItemOptions, EnqueueManyOptions } from "./client/jobs/enqueue-many.ts";
export type { Debounce, Throttle, UniqueJob } from "./client/jobs/enqueue-key.ts";
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
  type OrchestrationRole,
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
export type { DriveOptions, DriveResult } from "./core/define/drive.ts";
export type { RuntimeOptions } from "./runtime/options.ts";
export type { Retention, Unregistered } from "./runtime/policies.ts";
export type { ShadowReplay } from "./runtime/replay/shadowing.ts";
export { Runtime } from "./wired-runtime.ts";
