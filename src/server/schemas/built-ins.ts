// Schedules, limiters and entities: orchestrations whose code is a part of Perdure.

import * as v from "valibot";
import { timestamp, value, whole } from "./common.ts";
import { summary } from "./instance.ts";

const text = v.exactOptional(v.string());

/** The options of a schedule, as they are stored. */
const scheduleRule = v.object({
  /** Absent: the schedule has an interval. */
  cron: text,
  timezone: v.string(),
  everyMs: v.exactOptional(v.number()),
  from: v.exactOptional(timestamp),
  until: v.exactOptional(timestamp),
  overlap: v.string(),
  missed: v.string(),
  maxLatenessMs: v.exactOptional(v.number()),
  jitterMs: v.number(),
});

export const schedule = v.object({
  /** The name of the schedule, and the id of its instance. */
  name: v.string(),
  /** Absent: no process has applied the schedule, or its instance was deleted. */
  instance: v.exactOptional(summary),
  rule: v.exactOptional(scheduleRule),
  /** Absent: the rule has no further time, or the schedule has not computed it yet. */
  next: v.exactOptional(timestamp),
  /** The latest scheduled time or trigger. */
  last: v.exactOptional(v.object({ time: timestamp, outcome: v.string(), id: text, error: text })),
  /** Why the schedule starts no runs: its rule is not valid. */
  problem: text,
});

/** The slots of one key of a limiter. */
export const limiterKey = v.object({
  /** Absent: the calls without a key. */
  key: text,
  instance: summary,
  concurrency: v.exactOptional(whole),
  rate: v.exactOptional(v.object({ count: whole, perMs: v.number() })),
  inUse: whole,
  /** At most twenty of the instances that hold a slot. */
  holders: v.array(v.string()),
  /** Callers that wait for a slot, counted up to 1,000. Absent: not counted, because more than 20 keys are full. */
  waiting: v.exactOptional(whole),
  /** When the rate admits the next caller. */
  nextAt: v.exactOptional(timestamp),
});

export const limiter = v.object({
  name: v.string(),
  /** The keys in use, at most 100. A key that no caller uses has no running instance. */
  keys: v.array(limiterKey),
  /** The number of keys in use. */
  keyCount: whole,
});

export const entityName = v.object({ name: v.string(), count: whole });

export const entityPage = v.object({
  items: v.array(
    v.object({
      key: v.string(),
      instance: summary,
      /** Absent: no call has changed the state of the definition. */
      state: v.exactOptional(value),
    }),
  ),
  cursor: text,
});
