// The types of batch jobs.

import type { ActivityClient, ActivityContext } from "../core/context/activity-context.ts";
import type { ServiceValues } from "../core/context/app-types.ts";
import type { JobOptions } from "../core/define/job.ts";
import type { Logger } from "../core/telemetry/log.ts";
import type { Duration } from "../core/time/duration.ts";
import type { StandardSchema } from "../core/values/standard-schema.ts";

/** The outcome of one item: `ok` is the result of its job, `error` the failure of its attempt. */
export type BatchOutcome<Out> = { readonly ok: Out } | { readonly error: unknown };

/** What a handler returns: nothing (all items succeeded), or one outcome per item, in order. */
export type BatchReturn<Out> =
  (undefined extends Out ? void : never) | readonly BatchOutcome<Out>[];

/** Called once per batch. An error that it throws fails the attempts of all items. */
export type BatchHandler<Item, Out> = (
  items: Item[],
  ctx: BatchContext,
) => BatchReturn<Out> | Promise<BatchReturn<Out>>;

/** The attempt of one item of a batch. */
export interface BatchItem extends Pick<
  ActivityContext,
  "attempt" | "context" | "idempotencyKey" | "info" | "signal"
> {
  /** The job, or the orchestration that called the activity. */
  readonly instanceId: string;
}

/** What a batch handler receives. Its members can be destructured. */
export interface BatchContext {
  /**
   * Aborted when the attempts of all items are over: each was cancelled, timed out or lost its lease, or the runtime's
   * grace period ended.
   */
  readonly signal: AbortSignal;
  /** Its lines name the job, the worker, the number of items and the key. They belong to no single instance. */
  readonly log: Logger;
  /** The attempts of the items, in the order of the items. */
  readonly items: readonly BatchItem[];
  /** Reports that the attempts of all items are alive, for `heartbeatTimeout`. */
  readonly heartbeat: () => void;
  /** A client on the store that contains the jobs. */
  readonly client: ActivityClient;
  /** The services that the worker was opened with. The context of each item is in `items`. */
  readonly services: ServiceValues;
}

/** How items become batches. */
export interface BatchRule<Item> {
  /** The largest number of items of a batch. A batch with this many items runs at once. */
  readonly max: number;
  /** How long the first item of a batch waits for others. */
  readonly wait: Duration;
  /** Only items with the same key share a batch. Default: all items have the same key. */
  readonly key?: (item: Item) => string;
}

/** Options of a batch job: its rule, and the options of a job, which apply to each item. `Input`: the schema of an item. */
export type BatchOptions<Item, Input extends StandardSchema | undefined = undefined> = JobOptions &
  BatchRule<Item> & {
    readonly input?: Input;
    /** Not available: the items of a batch meet in the process of the runtime. */
    readonly executor?: never;
  };
