// Queues: the tasks of one activity, with figures, limits and pauses.

import * as v from "valibot";
import { timestamp, whole } from "./common.ts";

const text = v.exactOptional(v.string());

/** The tasks of a queue with the same tags and the same priority. */
const queueKind = v.object({
  tags: v.array(v.string()),
  priority: whole,
  waiting: whole,
  running: whole,
  delayed: whole,
  oldestAvailableAt: v.exactOptional(timestamp),
  unclaimed: text,
});

/** Limits over all workers. */
const queueLimit = v.object({
  concurrency: v.exactOptional(whole),
  perKey: v.exactOptional(whole),
  rate: v.exactOptional(v.object({ count: whole, perMs: whole })),
  fair: v.exactOptional(v.literal(true)),
});

export const queue = v.object({
  /** The name of the activity. */
  name: v.string(),
  /** Due tasks that no worker holds. */
  depth: whole,
  running: whole,
  /** Tasks that are due later: retries, and tasks that a call from outside completes. */
  delayed: whole,
  /** Absent: no task waits. */
  oldestAgeMs: v.exactOptional(whole),
  /** Completed tasks per second, over the last minute. */
  rate: v.number(),
  /** Failed jobs that are still stored. */
  failures: whole,
  /** Attempts that ended in the last minute. */
  recent: v.object({ completed: whole, failed: whole, retried: whole }),
  /** Absent: not paused. */
  paused: v.exactOptional(v.object({ reason: text, by: text, at: timestamp })),
  /** Absent: neither limits nor fair order. */
  limit: v.exactOptional(queueLimit),
  /** Why no running worker accepts some of the waiting tasks. */
  unclaimed: text,
  kinds: v.array(queueKind),
});

export const queueDetail = v.object({
  ...queue.entries,
  /** The keys with the most waiting tasks. */
  topKeys: v.array(v.object({ key: v.string(), waiting: whole, running: whole })),
});
