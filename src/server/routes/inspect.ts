// Routes that inspect an instance: history, timeline, executions, unread events, key-values, tree, size.
//   - A page of history contains at most 1,000 events and about PAGE_CHARS_MAX characters (S28).

import * as v from "valibot";
import { notFound, Store } from "../../client/store.ts";
import { defined } from "../../core/values/defined.ts";
import { Refusal } from "../http/problems.ts";
import { jsonRoute } from "../http/route.ts";
import { queryWhole, value } from "../schemas/common.ts";
import { historyEvent, historyPage, timeline } from "../schemas/history.ts";
import { completedWork, execution, statistics, tree, unreadPage } from "../schemas/instance.ts";
import { timelineOf } from "../views/timeline.ts";
import { toHttp } from "../views/values.ts";
import { eventToHttp, type EventShape } from "../wire/history.ts";
import { member, treeToHttp, unreadToHttp } from "../wire/instance.ts";
import type { Services } from "../services.ts";
import { byId } from "./instances.ts";

const tag = "inspection";
const EVENTS_MAX = 1_000;
const SPANS_MAX = 10_000;
const PAGE_CHARS_MAX = 4_000_000;
const PAYLOAD_CHARS_DEFAULT = 65_536;
const errors = ["INSTANCE_NOT_FOUND", "HISTORY_CORRUPT"] as const;

const ofExecution = { execution: v.exactOptional(queryWhole({ min: 1 })) };
const row = { method: "GET", tag, role: "viewer", params: byId, errors } as const;

export const inspectRoutes = [
  jsonRoute({
    ...row,
    path: "/instances/:id/history",
    operation: "readHistory",
    summary: "The events of an execution with decoded payloads, page by page.",
    query: v.strictObject({
      ...ofExecution,
      after: v.exactOptional(queryWhole()),
      limit: v.exactOptional(queryWhole({ min: 1, max: EVENTS_MAX })),
      /** Longer payloads are cut; 0 omits all payloads. */
      payloadChars: v.exactOptional(queryWhole({ max: PAGE_CHARS_MAX })),
    }),
    answer: historyPage,
    run: async ({ services, params, query }) => {
      const { client, codec } = services;
      const { after = 0, limit = EVENTS_MAX, payloadChars = PAYLOAD_CHARS_DEFAULT } = query;
      const number = await executionOf(services, params.id, query.execution);
      const handle = client.get(params.id);
      // Reads one event more than the limit, to know whether there is a next page.
      const found = await handle.history({ execution: number, after, limit: limit + 1 });
      const events: EventShape[] = [];
      let chars = 0;
      for (const event of found.slice(0, limit)) {
        const shape = eventToHttp(event, codec, { charsMax: payloadChars });
        chars += JSON.stringify(shape).length;
        if (chars > PAGE_CHARS_MAX && events.length > 0) break;
        events.push(shape);
      }
      const last = events.at(-1)?.sequence;
      const more = last !== undefined && found.length > events.length;
      return { execution: number, events, ...(more ? { next: last } : {}) };
    },
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/history/:sequence",
    operation: "readHistoryEvent",
    summary: "One event with its complete payloads.",
    params: v.object({ id: v.string(), sequence: queryWhole({ min: 1 }) }),
    query: v.strictObject(ofExecution),
    answer: historyEvent,
    errors: [...errors, "EVENT_NOT_FOUND"],
    run: async ({ services, params, query }) => {
      const { client, codec } = services;
      const number = await executionOf(services, params.id, query.execution);
      const handle = client.get(params.id);
      const position = { execution: number, after: params.sequence - 1, limit: 1 };
      const event = (await handle.history(position))[0];
      if (event === undefined) throw new Refusal("EVENT_NOT_FOUND");
      return eventToHttp(event, codec);
    },
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/timeline",
    operation: "readTimeline",
    summary:
      "The timeline of an execution: activities, steps, timers, waits and children with their times.",
    query: v.strictObject({
      ...ofExecution,
      after: v.exactOptional(queryWhole()),
      limit: v.exactOptional(queryWhole({ min: 1, max: SPANS_MAX })),
    }),
    answer: timeline,
    run: async ({ services, params, query }) => {
      const { client, codec } = services;
      const { after = 0, limit = SPANS_MAX } = query;
      const number = await executionOf(services, params.id, query.execution);
      const handle = client.get(params.id);
      const events = await handle.history({ execution: number });
      const { spans, marks } = timelineOf(events, codec);
      const all = [...spans, ...marks]
        .map(({ sequence }) => sequence)
        .filter((sequence) => sequence > after)
        .sort((a, b) => a - b);
      const until = all[limit - 1] ?? Infinity;
      const isInPage = ({ sequence }: { sequence: number }): boolean =>
        sequence > after && sequence <= until;
      return {
        execution: number,
        events: events.length,
        spans: spans.filter(isInPage),
        marks: marks.filter(isInPage),
        ...(all.length > limit ? { next: until } : {}),
      };
    },
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/executions",
    operation: "listExecutions",
    summary: "The executions of an instance, oldest first.",
    answer: v.object({ items: v.array(execution) }),
    run: async ({ services: { client }, params }) => {
      const found = await client.get(params.id).executions();
      const items = found.map(({ startedAt, completedAt, ...rest }) => ({
        ...rest,
        startedAt: startedAt.toISOString(),
        ...defined({ completedAt: completedAt?.toISOString() }),
      }));
      return { items };
    },
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/completed",
    operation: "listCompletedWork",
    summary:
      "The activities, steps and children that an execution completed, by name. A restart runs them again.",
    query: v.strictObject(ofExecution),
    answer: v.object({ items: v.array(completedWork) }),
    run: async ({ services: { client }, params, query }) => ({
      items: [...(await client.get(params.id).completedWork(query))],
    }),
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/unread",
    operation: "listUnread",
    summary: "Events that the instance has not read, oldest first, page by page.",
    query: v.strictObject({
      cursor: v.exactOptional(v.string()),
      limit: v.exactOptional(queryWhole({ min: 1, max: EVENTS_MAX })),
    }),
    answer: unreadPage,
    run: async ({ services: { client }, params, query }) =>
      unreadToHttp(await client.get(params.id).unread(query)),
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/kv",
    operation: "listKeyValues",
    summary: "The key-values of an instance, ordered by key.",
    answer: v.object({
      items: v.array(v.object({ key: v.string(), value: v.exactOptional(value) })),
    }),
    run: async ({ services: { client }, params }) => {
      const handle = client.get(params.id);
      const found = await handle.kv.entries();
      if (found.length === 0 && !(await handle.exists())) throw notFound(params.id);
      return { items: found.map(([key, held]) => ({ key, ...member("value", toHttp(held)) })) };
    },
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/tree",
    operation: "readTree",
    summary: "The instance with all its descendants.",
    answer: tree,
    run: async ({ services: { client }, params }) => treeToHttp(await client.get(params.id).tree()),
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/stats",
    operation: "readStatistics",
    summary: "The size of an instance.",
    answer: statistics,
    run: async ({ services: { client }, params }) => client.get(params.id).stats(),
  }),
];

/** The requested execution, or the newest one. */
async function executionOf(
  { provider, codec }: Services,
  id: string,
  asked: number | undefined,
): Promise<number> {
  return asked ?? (await new Store(provider, codec).record(id)).execution;
}
