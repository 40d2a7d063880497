// The API's answers as they travel: JSON, dates as texts. For programs that read them without the HTTP client, such
// as a page in a browser.

import type * as v from "valibot";
import type { bulkAnswer } from "./schemas/bulk.ts";
import type { historyEvent, historyPage, mark, span, timeline } from "./schemas/history.ts";
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
} from "./schemas/instance.ts";
import type { FailureShape, TreeShape } from "./schemas/shapes.ts";
import type { metrics, overview, queue, removed, runtime, sample } from "./schemas/store.ts";

/** An instance, as `GET /instances/{id}` tells it. */
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
/** An instance with its children. */
export type TreeJson = TreeShape;
/** One execution of an instance. */
export type ExecutionJson = v.InferInput<typeof execution>;
/** How large an instance is. */
export type StatisticsJson = v.InferInput<typeof statistics>;
/** How an instance ended, as far as it has. */
export type OutcomeJson = v.InferInput<typeof outcome>;
/** Ids of instances that changed. */
export type ChangeJson = v.InferInput<typeof change>;
/** One event of a history, payloads decoded. */
export type HistoryEventJson = v.InferInput<typeof historyEvent>;
/** A page of a history. */
export type HistoryPageJson = v.InferInput<typeof historyPage>;
/** What took time in an execution. */
export type TimelineJson = v.InferInput<typeof timeline>;
/** Something that took time. */
export type SpanJson = v.InferInput<typeof span>;
/** Something that happened at a moment. */
export type MarkJson = v.InferInput<typeof mark>;
/** Figures for the whole store. */
export type MetricsJson = v.InferInput<typeof metrics>;
/** Tasks of one kind. */
export type QueueJson = v.InferInput<typeof queue>;
/** A runtime that works on the store. */
export type RuntimeJson = v.InferInput<typeof runtime>;
/** The store at one moment. */
export type SampleJson = v.InferInput<typeof sample>;
/** All that a dashboard opens with. */
export type OverviewJson = v.InferInput<typeof overview>;
/** What a deletion removed. */
export type RemovedJson = v.InferInput<typeof removed>;
/** What a bulk operation found and did. */
export type BulkAnswerJson = v.InferInput<typeof bulkAnswer>;
