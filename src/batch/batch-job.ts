// Batch jobs: jobs whose handler works on several items at once.
//   - Each item is a job, or a call of an orchestration, with its own attempts, timeout and result. An
//     attempt waits in the gatherer of its runtime (gatherer.ts) until the handler has worked on its batch. So a batch is
//     never stored, and a crash, a retry or a deploy has the same effect as on any other activity.
//   - batch-job.1: The attempts run in the process of the runtime, also if the runtime has another executor: threads could
//     not share a gatherer.

import {
  checkFunction,
  checkInteger,
  checkMembers,
  invalidArgument,
  type Members,
} from "../core/checks.ts";
import type { ActivityContext } from "../core/context/activity-context.ts";
import { nameForStacks, type Activity } from "../core/define/definitions.ts";
import { job } from "../core/define/job.ts";
import { showValue } from "../core/ids/ids.ts";
import { formatDuration, parseDuration } from "../core/time/duration.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../core/values/standard-schema.ts";
import { Gatherers } from "./gatherer.ts";
import type { BatchHandler, BatchOptions } from "./types.ts";

const OPTIONS: Members<BatchOptions<never>> = {
  max: true,
  wait: true,
  key: true,
  attempts: true,
  retry: true,
  timeout: true,
  scheduleToClose: true,
  heartbeatTimeout: true,
  priority: true,
  tags: true,
  session: true,
  limit: true,
  fair: true,
  keep: true,
  input: true,
  output: true,
  executor: true,
};

/**
 * Defines a batch job: a job whose handler is called with up to `max` items at once. Each item is enqueued by itself
 * (`client.enqueue`, or `ctx.run` in an orchestration) and has its own retries and its own result.
 */
export function batchJob<Schema extends StandardSchema, Out = void, Name extends string = string>(
  name: Name,
  handler: BatchHandler<SchemaOutput<Schema>, Out>,
  options: BatchOptions<SchemaOutput<Schema>, Schema> & { readonly input: Schema },
): Activity<SchemaInput<Schema>, Out, Name>;
export function batchJob<Item = undefined, Out = void, Name extends string = string>(
  name: Name,
  handler: BatchHandler<Item, Out>,
  options: BatchOptions<Item>,
): Activity<Item, Out, Name>;
export function batchJob(
  name: string,
  handler: BatchHandler<unknown, unknown>,
  options: BatchOptions<unknown, StandardSchema | undefined>,
): Activity<unknown, unknown> {
  const what = `batch job ${showValue(name)}`;
  checkFunction(handler, what);
  checkMembers(options, OPTIONS, what);
  const { max, wait, key, executor, input, ...given } = options;
  if (executor !== undefined) {
    throw invalidArgument(
      `${what} must not have an executor: its items meet in the process of the runtime. Remove the option.`,
    );
  }
  if (max === undefined || wait === undefined) {
    const missing = max === undefined ? "max" : "wait";
    throw invalidArgument(`${what} needs max and wait; ${missing} is missing.`);
  }
  checkInteger(max, 1, `max of ${what}`);
  const waitMs = parseDuration(wait, `wait of ${what}`);
  const keyOf = key === undefined ? null : checkedKey(key, what);
  nameForStacks(handler, name);
  const gatherers = new Gatherers({ name, max, waitMs, keyOf, handler });
  const run = (item: unknown, ctx: ActivityContext) => gatherers.run(item, ctx);
  const own = { ...given, executor: "process" } as const; // batch-job.1
  const definition = input === undefined ? job(name, run, own) : job(name, run, { ...own, input });
  checkTimeouts(definition, waitMs, what);
  return definition;
}

function checkedKey(key: (item: unknown) => string, what: string): (item: unknown) => string {
  checkFunction(key, `key of ${what}`);
  return (item) => {
    const value: unknown = key(item);
    if (typeof value === "string") return value;
    throw invalidArgument(`key of ${what} must return a text; got ${showValue(value)}.`);
  };
}

/** An attempt begins when its item begins to wait, so a shorter timeout would end it before the handler is called. */
function checkTimeouts({ options }: Activity<never, unknown>, waitMs: number, what: string): void {
  const { timeoutMs, heartbeatTimeoutMs } = options;
  for (const [option, ms] of Object.entries({
    timeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
  })) {
    if (ms === undefined || ms > waitMs) continue;
    const given = `${formatDuration(ms)} is not longer than ${formatDuration(waitMs)}`;
    throw invalidArgument(`${option} of ${what} must be longer than its wait; ${given}.`);
  }
}
