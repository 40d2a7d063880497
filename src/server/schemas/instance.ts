// Instances: the full form of `describe`, and the summary of lists.

import * as v from "valibot";
import { attributes, status, timestamp, value, whole } from "./common.ts";
import { briefEnding, ending } from "./failure.ts";
import { repair } from "./repair.ts";
import type { TreeShape } from "./shapes.ts";

const position = { sequence: whole, node: v.exactOptional(v.string()) };

export const waiting = v.variant("kind", [
  v.object({ kind: v.literal("timer"), ...position, due: timestamp }),
  v.object({
    kind: v.literal("event"),
    ...position,
    name: v.string(),
    details: v.exactOptional(value),
    /** Library code sends this event; users do not. */
    internal: v.exactOptional(v.literal(true)),
  }),
  v.object({
    kind: v.literal("activity"),
    ...position,
    name: v.string(),
    attempt: whole,
    lastError: v.exactOptional(v.string()),
    availableAt: v.exactOptional(timestamp),
    worker: v.exactOptional(v.string()),
    unclaimed: v.exactOptional(v.string()),
    completesLater: v.exactOptional(v.literal(true)),
    progress: v.exactOptional(value),
  }),
  v.object({
    kind: v.literal("step"),
    ...position,
    name: v.string(),
    attempt: whole,
    lastError: v.exactOptional(v.string()),
    availableAt: v.exactOptional(timestamp),
  }),
  v.object({ kind: v.literal("child"), ...position, name: v.string(), id: v.string() }),
  v.object({ kind: v.literal("ask"), ...position, name: v.string(), id: v.string() }),
  v.object({
    kind: v.literal("callback"),
    ...position,
    name: v.string(),
    createdAt: timestamp,
    expiresAt: v.exactOptional(timestamp),
  }),
  v.object({
    kind: v.literal("requests"),
    ...position,
    names: v.array(v.string()),
    /** The JSON Schemas of the inputs by name, as far as they are known. */
    schemas: v.exactOptional(v.record(v.string(), v.unknown())),
  }),
]);

const sketch = v.nullable(
  v.object({
    kind: v.string(),
    name: v.exactOptional(v.string()),
    id: v.exactOptional(v.string()),
    scheduled: v.exactOptional(whole),
    /** The start of the encoded input. */
    input: v.exactOptional(v.string()),
    since: v.exactOptional(v.string()),
    session: v.exactOptional(v.string()),
    tags: v.exactOptional(v.array(v.string())),
    /** The start of the encoded answer to a request. */
    output: v.exactOptional(v.string()),
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
      /** This member and the following ones are absent in lists. */
      at: v.exactOptional(timestamp),
      interrupted: v.exactOptional(
        v.array(v.object({ kind: v.string(), name: v.string(), sequence: whole })),
      ),
      cleanedUp: v.exactOptional(v.boolean()),
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
  /** The repairs that led to this execution, oldest first. Absent: none. */
  repairs: v.exactOptional(v.array(repair)),
  unclaimed: v.exactOptional(v.string()),
  context: v.exactOptional(value),
});

/**
 * An instance in a list: no output, long values cut, errors shortened, so that a page of 1,000 stays small.
 */
export const summary = v.object({
  ...common,
  error: v.exactOptional(briefEnding),
  /** Some of what the instance waits for, if the request asked for it. */
  waitingFor: v.exactOptional(v.array(waiting)),
  /** The size of the attributes in bytes, if they were omitted because they exceed 16 KiB. */
  attributesLeftOut: v.exactOptional(whole),
});

export const counts = v.object({
  items: v.array(
    v.object({
      status: v.exactOptional(status),
      name: v.exactOptional(v.string()),
      count: whole,
    }),
  ),
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

/** The completed calls of one name in an execution. A restart runs them again. */
export const completedWork = v.object({
  kind: v.picklist(["activity", "step", "child"]),
  name: v.string(),
  count: whole,
});

export const unreadPage = v.object({
  items: v.array(
    v.object({
      name: v.string(),
      data: v.exactOptional(value),
      /** Why the schema of a wait refused the event. */
      refused: v.exactOptional(
        v.object({ code: v.string(), message: v.string(), path: v.exactOptional(v.string()) }),
      ),
      /** Set if it is a request that has no answer yet. */
      requestId: v.exactOptional(v.string()),
      /** Set if it is a value for the callback of that name. */
      callback: v.exactOptional(v.literal(true)),
    }),
  ),
  cursor: v.exactOptional(v.string()),
});

export const statistics = v.object({
  events: whole,
  bytes: whole,
  unread: whole,
  keys: whole,
  keyBytes: whole,
});

/** The answer of a start or a fork: the new instance. */
export const started = v.object({ id: v.string() });

/** The ids of changed instances. `all`: any instance may have changed. */
export const change = v.object({ ids: v.array(v.string()), all: v.boolean() });

/** The outcome of an instance, if it has ended. */
export const outcome = v.variant("ended", [
  v.object({ ended: v.literal(false), reason: v.exactOptional(v.string()) }),
  v.object({
    ended: v.literal(true),
    output: v.exactOptional(value),
    error: v.exactOptional(ending),
  }),
]);

/** The answer to a request. `answer` is absent if the instance answers with undefined. */
export const requestAnswer = v.object({ answer: v.exactOptional(value) });

/** One key-value of an instance, if it exists. */
export const keyValue = v.object({
  found: v.boolean(),
  value: v.exactOptional(value),
  /** Why the key does not exist yet. */
  reason: v.exactOptional(v.string()),
});
