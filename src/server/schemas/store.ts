// The whole store: metrics, runtimes, and the overview for the dashboard's first page.

import * as v from "valibot";
import { timestamp, value, whole } from "./common.ts";
import { queue } from "./queues.ts";

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
  /** Paused and blocked instances are counted under their status too. */
  instances: byStatus,
  paused: whole,
  blocked: whole,
  executions: whole,
  events: whole,
  dueMessages: whole,
  keptMessages: whole,
  expiredMessages: whole,
  waitingTasks: whole,
  runningTasks: whole,
  strandedLeases: whole,
  unclaimed: v.array(unclaimed),
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
  /** Whether its last heartbeat is less than 30 seconds old. */
  alive: v.boolean(),
  registered: v.exactOptional(
    v.object({
      activities: v.array(v.string()),
      orchestrations: v.array(
        v.object({
          name: v.string(),
          versions: v.array(v.string()),
          role: v.exactOptional(v.picklist(["schedule", "limiter", "entity"])),
        }),
      ),
      tags: tagFilter,
      replayVersions: v.object({ min: v.number(), max: v.number() }),
    }),
  ),
  load: v.object({ instances: whole, tasks: whole }),
  startedAt: timestamp,
  lastBeatAt: timestamp,
  note: v.exactOptional(v.string()),
});

/** The state of the store at one time, and rates since the previous sample. */
export const sample = v.object({
  at: timestamp,
  /** Rates per second. */
  startedRate: v.number(),
  completedRate: v.number(),
  /** Failed, cancelled and terminated instances. */
  endedOtherwiseRate: v.number(),
  eventRate: v.number(),
  running: whole,
  waitingTasks: whole,
  runningTasks: whole,
  dueMessages: whole,
  blocked: whole,
  /** The age of the oldest waiting task. */
  oldestTaskMs: whole,
  /** Time from creation to end of instances that ended since the previous sample. Absent: none ended. */
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
      /** The message of the newest instance. */
      message: v.string(),
      count: whole,
      newestId: v.string(),
      newestAt: timestamp,
    }),
  ),
  /** How many of the newest instances were grouped. `metrics` counts all of them. */
  looked: v.object({ blocked: whole, failed: whole }),
});

export const overview = v.object({
  at: timestamp,
  store: v.object({ name: v.string(), durability: v.string() }),
  readOnly: v.boolean(),
  metrics,
  queues: v.array(queue),
  /** The number of queues. `queues` contains the largest of them. */
  queueCount: whole,
  runtimes: v.array(runtime),
  troubles,
  sampleMs: whole,
  samples: v.array(sample),
});

/** Events for instances that do not exist yet, and expired ones. */
export const keptPage = v.object({
  items: v.array(
    v.object({
      id: v.string(),
      event: v.string(),
      requestId: v.string(),
      /** Absent if the event has expired. */
      data: v.exactOptional(value),
      createdAt: timestamp,
      expiresAt: timestamp,
      expired: v.boolean(),
      /** Why the data cannot be read. */
      unreadable: v.exactOptional(v.string()),
    }),
  ),
  cursor: v.exactOptional(v.string()),
});

export const removed = v.object({
  instances: whole,
  executions: whole,
  events: whole,
  messages: whole,
});
