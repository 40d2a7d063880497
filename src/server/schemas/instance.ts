// An instance, as `describe` and lists tell it.

import * as v from "valibot";
import { attributes, status, timestamp, value, whole } from "./common.ts";
import { briefEnding, ending } from "./failure.ts";
import type { TreeShape } from "./shapes.ts";

const place = { sequence: whole, node: v.exactOptional(v.string()) };

export const waiting = v.variant("kind", [
  v.object({ kind: v.literal("timer"), ...place, due: timestamp }),
  v.object({
    kind: v.literal("event"),
    ...place,
    name: v.string(),
    details: v.exactOptional(value),
    /** Only code sends it. */
    internal: v.exactOptional(v.literal(true)),
  }),
  v.object({
    kind: v.literal("activity"),
    ...place,
    name: v.string(),
    attempt: whole,
    lastError: v.exactOptional(v.string()),
    availableAt: v.exactOptional(timestamp),
    worker: v.exactOptional(v.string()),
    unclaimed: v.exactOptional(v.string()),
    progress: v.exactOptional(value),
  }),
  v.object({
    kind: v.literal("step"),
    ...place,
    name: v.string(),
    attempt: whole,
    lastError: v.exactOptional(v.string()),
    availableAt: v.exactOptional(timestamp),
  }),
  v.object({ kind: v.literal("child"), ...place, name: v.string(), id: v.string() }),
]);

const sketch = v.nullable(
  v.object({
    kind: v.string(),
    name: v.exactOptional(v.string()),
    id: v.exactOptional(v.string()),
    scheduled: v.exactOptional(whole),
    /** Codec text, cut. */
    input: v.exactOptional(v.string()),
    since: v.exactOptional(v.string()),
    session: v.exactOptional(v.string()),
    tags: v.exactOptional(v.array(v.string())),
  }),
);

export const block = v.object({
  code: v.string(),
  message: v.string(),
  since: timestamp,
  by: v.string(),
  sequence: v.exactOptional(whole),
  recorded: v.exactOptional(sketch),
  requested: v.exactOptional(sketch),
  source: v.exactOptional(v.string()),
});

const common = {
  id: v.string(),
  name: v.string(),
  version: v.exactOptional(v.string()),
  status,
  execution: whole,
  customStatus: v.exactOptional(value),
  customStatusVersion: whole,
  unreadable: v.exactOptional(v.string()),
  blocked: v.exactOptional(block),
  parent: v.exactOptional(v.object({ id: v.string(), sequence: whole })),
  attributes,
  priority: whole,
  paused: v.exactOptional(
    v.object({ reason: v.string(), by: v.exactOptional(v.string()), at: timestamp }),
  ),
  cancelled: v.exactOptional(
    v.object({
      reason: v.string(),
      by: v.exactOptional(v.string()),
      /** Not in lists. */
      at: v.exactOptional(timestamp),
    }),
  ),
  createdAt: timestamp,
  updatedAt: timestamp,
  completedAt: v.exactOptional(timestamp),
};

export const instance = v.object({
  ...common,
  output: v.exactOptional(value),
  error: v.exactOptional(ending),
  waitingFor: v.array(waiting),
  unclaimed: v.exactOptional(v.string()),
});

/** Without the output; long values are cut and errors shortened, so that a page of 1,000 stays small. */
export const summary = v.object({
  ...common,
  error: v.exactOptional(briefEnding),
  /** Attributes over 16 KiB are left out, and their size in bytes is here. */
  attributesLeftOut: v.exactOptional(whole),
});

export const instancePage = v.object({
  items: v.array(summary),
  cursor: v.exactOptional(v.string()),
});

export const tree: v.GenericSchema<TreeShape> = v.object({
  id: v.string(),
  status: v.string(),
  children: v.array(v.lazy(() => tree)),
});

export const execution = v.object({
  execution: whole,
  status: v.string(),
  events: whole,
  startedAt: timestamp,
  completedAt: v.exactOptional(timestamp),
});

/** Calls of one name that an execution completed; a restart runs them again. */
export const completedWork = v.object({
  kind: v.picklist(["activity", "step", "child"]),
  name: v.string(),
  count: whole,
});

export const unreadPage = v.object({
  items: v.array(v.object({ name: v.string(), data: v.exactOptional(value) })),
  cursor: v.exactOptional(v.string()),
});

export const statistics = v.object({
  events: whole,
  bytes: whole,
  unread: whole,
  keys: whole,
  keyBytes: whole,
});

/** What a start or a fork has made. */
export const started = v.object({ id: v.string() });

/** Where something changed; `all`: look at everything. */
export const change = v.object({ ids: v.array(v.string()), all: v.boolean() });

/** An instance's outcome, as far as it has one. */
export const outcome = v.variant("ended", [
  v.object({ ended: v.literal(false), reason: v.exactOptional(v.string()) }),
  v.object({
    ended: v.literal(true),
    output: v.exactOptional(value),
    error: v.exactOptional(ending),
  }),
]);

/** One key of an instance, as far as it is there. */
export const keyValue = v.object({
  found: v.boolean(),
  value: v.exactOptional(value),
  /** Why it is not there yet. */
  reason: v.exactOptional(v.string()),
});
