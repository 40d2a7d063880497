// Types of the API's JSON answers, with dates as texts. For programs that read the answers without the HTTP
// client, such as a page in a browser.

import type * as v from "valibot";
import type { bulkAnswer } from "../schemas/bulk.ts";
import type { historyEvent, historyPage, mark, span, timeline } from "../schemas/history.ts";
import type {
  block,
  change,
  execution,
  instance,
  instancePage,
  outcome,
  statistics,
  summary,
  waiting,
} from "../schemas/instance.ts";
import type { queue, queueDetail } from "../schemas/queues.ts";
import type { FailureShape, TreeShape } from "../schemas/shapes.ts";
import type { streamInfo, streamItem, streamReset } from "../schemas/streams.ts";
import type { metrics, overview, removed, runtime, sample } from "../schemas/store.ts";

/** An instance, as `GET /instances/{id}` returns it. */
export type InstanceJson = v.InferInput<typeof instance>;
/** An instance in a list. */
export type InstanceSummaryJson = v.InferInput<typeof summary>;
/** A page of a list. */
export type InstancePageJson = v.InferInput<typeof instancePage>;
/** What an instance waits for. */
export type WaitingJson = v.InferInput<typeof waiting>;
/** Why an instance is blocked. */
export type BlockJson = v.InferInput<typeof block>;
/** An error, with its causes. */
export type FailureJson = FailureShape;
/** An instance with its descendants. */
export type TreeJson = TreeShape;
/** One execution of an instance. */
export type ExecutionJson = v.InferInput<typeof execution>;
/** The size of an instance. */
export type StatisticsJson = v.InferInput<typeof statistics>;
/** The outcome of an instance, if it has ended. */
export type OutcomeJson = v.InferInput<typeof outcome>;
/** A stream of an instance. */
export type StreamJson = v.InferInput<typeof streamInfo>;
/** The data of the event `item` of a stream. */
export type StreamItemJson = v.InferInput<typeof streamItem>;
/** The data of the event `reset` of a stream: the items of this call at or after `from` are void. */
export type StreamResetJson = v.InferInput<typeof streamReset>;
/** Ids of instances that changed. */
export type ChangeJson = v.InferInput<typeof change>;
/** One history event with decoded payloads. */
export type HistoryEventJson = v.InferInput<typeof historyEvent>;
/** A page of a history. */
export type HistoryPageJson = v.InferInput<typeof historyPage>;
/** The timeline of an execution. */
export type TimelineJson = v.InferInput<typeof timeline>;
/** A call that takes time, from its request to its outcome. */
export type SpanJson = v.InferInput<typeof span>;
/** An event at one point in time. */
export type MarkJson = v.InferInput<typeof mark>;
/** The metrics of the store. */
export type MetricsJson = v.InferInput<typeof metrics>;
/** A queue: the tasks of one activity. */
export type QueueJson = v.InferInput<typeof queue>;
/** A queue with the keys that have the most waiting tasks. */
export type QueueDetailJson = v.InferInput<typeof queueDetail>;
/** A runtime that works on the store. */
export type RuntimeJson = v.InferInput<typeof runtime>;
/** A sample of the store's metrics. */
export type SampleJson = v.InferInput<typeof sample>;
/** The data of the dashboard's overview page. */
export type OverviewJson = v.InferInput<typeof overview>;
/** What a deletion removed. */
export type RemovedJson = v.InferInput<typeof removed>;
/** The result of a bulk operation. */
export type BulkAnswerJson = v.InferInput<typeof bulkAnswer>;
