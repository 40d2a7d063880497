// Jobs: an activity that can be enqueued by itself (core/replay/job-code.ts).

import { checkMembers, invalidArgument, type Members } from "../checks.ts";
import { showValue } from "../ids/ids.ts";
import type { TerminalStatus } from "../provider/instances.ts";
import { parseDuration, type Duration } from "../time/duration.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../values/standard-schema.ts";
import {
  defineActivity,
  type Activity,
  type ActivityDefaults,
  type ActivityFunction,
} from "./definitions.ts";

/** How long ended jobs stay in the store, by status. Without a value, the `retention` of the runtime applies. */
export interface JobKeep {
  readonly completed?: Duration;
  readonly failed?: Duration;
  readonly cancelled?: Duration;
}
/** Options of a job: those of an activity, and how long its ended instances are kept. */
export type JobOptions = ActivityDefaults & { readonly keep?: JobKeep };

const KEEP: Members<JobKeep> = { completed: true, failed: true, cancelled: true };

/**
 * Defines a job: an activity for `client.enqueue`. It is registered like an activity, and orchestrations can call it with
 * `ctx.run`.
 */
export function job<Schema extends StandardSchema, O, Name extends string = string>(
  name: Name,
  fn: ActivityFunction<SchemaOutput<Schema>, O>,
  options: JobOptions & { readonly input: Schema },
): Activity<SchemaInput<Schema>, O, Name>;
export function job<I = undefined, O = unknown, Name extends string = string>(
  name: Name,
  fn: ActivityFunction<I, O>,
  options?: JobOptions & { readonly input?: undefined },
): Activity<I, O, Name>;
export function job<I, O, Name extends string>(
  name: Name,
  fn: ActivityFunction<I, O>,
  options: JobOptions = {},
): Activity<I, O, Name> {
  if (typeof options !== "object" || options === null) {
    throw invalidArgument(`options of job "${name}" must be an object; got ${showValue(options)}.`);
  }
  const { keep, ...defaults } = options;
  const definition = defineActivity(name, fn, defaults, "job");
  if (keep === undefined) return definition;
  return Object.freeze({ ...definition, keepMs: keepMsOf(keep, `job "${name}"`) });
}

function keepMsOf(keep: JobKeep, what: string): Partial<Record<TerminalStatus, number>> {
  checkMembers(keep, KEEP, `keep of ${what}`);
  const keepMs: Partial<Record<TerminalStatus, number>> = {};
  for (const status of ["completed", "failed", "cancelled"] as const) {
    const duration = keep[status];
    if (duration !== undefined) {
      keepMs[status] = parseDuration(duration, `keep.${status} of ${what}`);
    }
  }
  return keepMs;
}
