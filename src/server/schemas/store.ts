// The store as a whole: figures, queues, runtimes, and the overview that a dashboard opens with.

import * as v from "valibot";
import { timestamp, whole } from "./common.ts";

const byStatus = v.object({
  pending: whole,
  running: whole,
  completed: whole,
  failed: whole,
  cancelled: whole,
  terminated: whole,
});

const unclaimedSince = { name: v.string(), since: timestamp, reason: v.string() };
export const unclaimed = v.variant("kind", [
  v.object({ kind: v.literal("activity"), tags: v.array(v.string()), ...unclaimedSince }),
  v.object({
    kind: v.literal("orchestration"),
    version: v.exactOptional(v.string()),
    ...unclaimedSince,
  }),
]);

export const metrics = v.object({
  /** Paused and blocked ones are counted under their status as well. */
  instances: byStatus,
  paused: whole,
  blocked: whole,
  executions: whole,
  events: whole,
  dueMessages: whole,
  waitingTasks: whole,
  runningTasks: whole,
  strandedLeases: whole,
  unclaimed: v.array(unclaimed),
});

export const queue = v.object({
  name: v.string(),
  tags: v.array(v.string()),
  priority: whole,
  waiting: whole,
  running: whole,
  delayed: whole,
  oldestAvailableAt: v.exactOptional(timestamp),
  unclaimed: v.exactOptional(v.string()),
});

const tagFilter = v.union([
  v.picklist(["untagged", "any", "none"]),
  v.object({ tags: v.array(v.string()), untagged: v.boolean() }),
]);

export const runtime = v.object({
  id: v.string(),
  nodeId: v.string(),
  hostname: v.string(),
  pid: v.exactOptional(whole),
  /** Whether it gave a sign of life within the last 30 seconds. */
  alive: v.boolean(),
  registered: v.exactOptional(
    v.object({
      activities: v.array(v.string()),
      orchestrations: v.array(v.object({ name: v.string(), versions: v.array(v.string()) })),
      tags: tagFilter,
      replayVersions: v.object({ min: v.number(), max: v.number() }),
    }),
  ),
  load: v.object({ instances: whole, tasks: whole }),
  startedAt: timestamp,
  lastBeatAt: timestamp,
  note: v.exactOptional(v.string()),
});

/** The store at one moment, and what happened since the sample before. */
export const sample = v.object({
  at: timestamp,
  /** Instances a second, events a second. */
  startedRate: v.number(),
  completedRate: v.number(),
  /** Failed, cancelled and terminated ones. */
  endedOtherwiseRate: v.number(),
  eventRate: v.number(),
  running: whole,
  waitingTasks: whole,
  runningTasks: whole,
  dueMessages: whole,
  blocked: whole,
  /** How long the oldest task that waits has waited. */
  oldestTaskMs: whole,
  /** From creation to end, of instances that ended since the sample before; absent: none did. */
  latency: v.exactOptional(v.object({ p50Ms: whole, p95Ms: whole, count: whole })),
});

/** Blocked and failed instances by name, version and cause. */
export const troubles = v.object({
  groups: v.array(
    v.object({
      kind: v.picklist(["blocked", "failed"]),
      name: v.string(),
      version: v.exactOptional(v.string()),
      /** The code of the block, or the name of the error. */
      cause: v.string(),
      /** Of the newest instance. */
      message: v.string(),
      count: whole,
      newestId: v.string(),
      newestAt: timestamp,
    }),
  ),
  /** How many instances the groups were made of: the newest ones. `metrics` counts all. */
  looked: v.object({ blocked: whole, failed: whole }),
});

export const overview = v.object({
  at: timestamp,
  store: v.object({ name: v.string(), durability: v.string() }),
  readOnly: v.boolean(),
  metrics,
  queues: v.array(queue),
  /** Kinds of tasks in all; `queues` holds the fullest of them. */
  queueKinds: whole,
  runtimes: v.array(runtime),
  troubles,
  sampleMs: whole,
  samples: v.array(sample),
});

export const removed = v.object({
  instances: whole,
  executions: whole,
  events: whole,
  messages: whole,
});
