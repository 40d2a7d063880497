// Routes that start, list, describe, delete and prune instances, and send events.

import * as v from "valibot";
import { PerdureError } from "../../core/errors/errors.ts";
import { defined } from "../../core/values/defined.ts";
import {
  attributes,
  context,
  duration,
  given,
  queryFlag,
  timestamp,
  whole,
} from "../schemas/common.ts";
import { filterOfQuery, filterQuery, listQuery } from "../schemas/filter.ts";
import { counts, instance, instancePage, started } from "../schemas/instance.ts";
import { removed } from "../schemas/store.ts";
import { emptyRoute, jsonRoute } from "../http/route.ts";
import { instanceToHttp, summaryToHttp } from "../wire/instance.ts";

const tag = "instances";
export const byId = v.object({ id: v.string() });

const startBody = v.strictObject({
  name: v.string(),
  input: v.exactOptional(given),
  id: v.exactOptional(v.string()),
  version: v.exactOptional(v.string()),
  onConflict: v.exactOptional(v.picklist(["fail", "useExisting", "restart", "terminateExisting"])),
  delay: v.exactOptional(duration),
  at: v.exactOptional(timestamp),
  priority: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5))),
  attributes: v.exactOptional(attributes),
  context: v.exactOptional(context),
  events: v.exactOptional(
    v.pipe(
      v.array(v.strictObject({ name: v.string(), data: v.exactOptional(given) })),
      v.maxLength(1_000),
    ),
  ),
});

export const pruneEntries = {
  keepLast: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  completedBefore: v.exactOptional(timestamp),
  olderThan: v.exactOptional(duration),
};

export const instanceRoutes = [
  jsonRoute({
    method: "POST",
    path: "/instances",
    operation: "startInstance",
    summary:
      "Starts an instance. With an Idempotency-Key, a repeated request returns the first instance.",
    tag,
    role: "operator",
    body: startBody,
    answer: started,
    status: 201,
    errors: ["INSTANCE_EXISTS", "INSTANCE_RUNNING", "LIMIT_EXCEEDED"],
    run: async ({ services: { client }, body, binding }) => {
      const { name, input, ...options } = body;
      const handle = await client.start(name, input, {
        ...options,
        ...binding,
      });
      return { id: handle.id };
    },
  }),
  jsonRoute({
    method: "GET",
    path: "/instances",
    operation: "listInstances",
    summary: "Matching instances, newest first, page by page.",
    tag,
    role: "viewer",
    query: listQuery,
    answer: instancePage,
    run: async ({ services: { client }, query }) => {
      const { cursor, limit, orderBy, order, waits, ...filter } = query;
      const options = defined({ cursor, limit, orderBy, order, waits });
      const page = await client.list(filterOfQuery(filter), options);
      return {
        items: page.items.map(summaryToHttp),
        ...defined({ cursor: page.cursor }),
      };
    },
  }),
  jsonRoute({
    method: "GET",
    path: "/count",
    operation: "countInstances",
    summary: "The number of matching instances.",
    tag,
    role: "viewer",
    query: filterQuery,
    answer: v.object({ count: whole }),
    run: async ({ services: { client }, query }) => ({
      count: await client.count(filterOfQuery(query)),
    }),
  }),
  jsonRoute({
    method: "GET",
    path: "/counts",
    operation: "countByStatusAndName",
    summary: "The number of instances by status, by name, or by both, without reading instances.",
    tag,
    role: "viewer",
    query: v.strictObject({
      by: v.exactOptional(v.pipe(v.array(v.picklist(["status", "name"])), v.maxLength(2))),
    }),
    answer: counts,
    run: async ({ services: { client }, query }) => ({ items: [...(await client.counts(query))] }),
  }),
  jsonRoute({
    method: "GET",
    path: "/instances/:id",
    operation: "describeInstance",
    summary: "An instance: its status, what it waits for, how it ended.",
    tag,
    role: "viewer",
    params: byId,
    answer: instance,
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client, codec }, params }) =>
      instanceToHttp(await client.get(params.id).describe(), codec),
  }),
  jsonRoute({
    method: "DELETE",
    path: "/instances/:id",
    operation: "deleteInstance",
    summary: "Deletes an ended instance with its children; with `force` also a live one.",
    tag,
    role: "admin",
    params: byId,
    query: v.strictObject({ force: v.exactOptional(queryFlag) }),
    answer: removed,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_RUNNING"],
    run: async ({ services: { client }, params, query }) => client.delete(params.id, query),
  }),
  jsonRoute({
    method: "POST",
    path: "/instances/:id/prune",
    operation: "pruneInstance",
    summary: "Removes old executions; the newest always stays.",
    tag,
    role: "admin",
    params: byId,
    body: v.strictObject(pruneEntries),
    answer: removed,
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client }, params, body }) =>
      client.prune(params.id, pruneOptions(body)),
  }),
  emptyRoute({
    method: "POST",
    path: "/instances/:id/events",
    operation: "raiseEvent",
    summary: "Sends an event. With an Idempotency-Key, a repeated request sends it once.",
    tag,
    role: "operator",
    params: byId,
    body: v.strictObject({
      name: v.string(),
      data: v.exactOptional(given),
      ifMissing: v.exactOptional(v.picklist(["fail", "keep"])),
      keepFor: v.exactOptional(duration),
    }),
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED", "LIMIT_EXCEEDED"],
    run: async ({ services: { client }, params, body, binding }) => {
      const { name, data, ...options } = body;
      await client.raise(params.id, name, data, {
        ...options,
        ...binding,
      });
    },
  }),
];

/** `completedBefore` is a point in time, `olderThan` is an age. */
export function pruneOptions(body: {
  readonly keepLast?: number;
  readonly completedBefore?: Date;
  readonly olderThan?: number;
}): { keepLast?: number; completedBefore?: Date | number } {
  const { keepLast, completedBefore, olderThan } = body;
  if (completedBefore !== undefined && olderThan !== undefined) {
    throw new PerdureError(
      "INVALID_ARGUMENT",
      "Set either completedBefore or olderThan, not both.",
    );
  }
  const before = completedBefore ?? olderThan;
  return defined({ keepLast, completedBefore: before });
}
