// Looking into an instance: its history, what it has said and kept, and whose child it is.
//   IN1. A page of history holds at most 1,000 events and about PAGE_CHARS_MAX characters (S28).

import * as v from "valibot";
import type { Handle } from "../../client/handle.ts";
import { notFound } from "../../client/store.ts";
import { Refusal } from "../problems.ts";
import { answers } from "../route.ts";
import { queryWhole, value } from "../schemas/common.ts";
import { historyEvent, historyPage, timeline } from "../schemas/history.ts";
import { completedWork, execution, statistics, tree, unreadPage } from "../schemas/instance.ts";
import { timelineOf } from "../timeline.ts";
import { toHttp } from "../values.ts";
import { eventToHttp, type EventShape } from "../wire/history.ts";
import { member, treeToHttp, unreadToHttp } from "../wire/instance.ts";
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
  answers({
    ...row,
    path: "/instances/:id/history",
    operation: "readHistory",
    summary: "The events of an execution, payloads decoded, a page at a time.",
    query: v.strictObject({
      ...ofExecution,
      after: v.exactOptional(queryWhole()),
      limit: v.exactOptional(queryWhole({ min: 1, max: EVENTS_MAX })),
      /** Longer payloads are cut; 0 leaves them all out. */
      payloadChars: v.exactOptional(queryWhole({ max: PAGE_CHARS_MAX })),
    }),
    answer: historyPage,
    run: async ({ services: { client, codec }, params, query }) => {
      const { after = 0, limit = EVENTS_MAX, payloadChars = PAYLOAD_CHARS_DEFAULT } = query;
      const { handle, number } = await executionOf(client.get(params.id), query.execution);
      // One more than asked for, to know whether there is more.
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
  answers({
    ...row,
    path: "/instances/:id/history/:sequence",
    operation: "readHistoryEvent",
    summary: "One event, its payloads whole.",
    params: v.object({ id: v.string(), sequence: queryWhole({ min: 1 }) }),
    query: v.strictObject(ofExecution),
    answer: historyEvent,
    errors: [...errors, "EVENT_NOT_FOUND"],
    run: async ({ services: { client, codec }, params, query }) => {
      const { handle, number } = await executionOf(client.get(params.id), query.execution);
      const place = { execution: number, after: params.sequence - 1, limit: 1 };
      const event = (await handle.history(place))[0];
      if (event === undefined) throw new Refusal("EVENT_NOT_FOUND");
      return eventToHttp(event, codec);
    },
  }),
  answers({
    ...row,
    path: "/instances/:id/timeline",
    operation: "readTimeline",
    summary:
      "What took time in an execution, and when: activities, steps, timers, waits, children.",
    query: v.strictObject({
      ...ofExecution,
      after: v.exactOptional(queryWhole()),
      limit: v.exactOptional(queryWhole({ min: 1, max: SPANS_MAX })),
    }),
    answer: timeline,
    run: async ({ services: { client, codec }, params, query }) => {
      const { after = 0, limit = SPANS_MAX } = query;
      const { handle, number } = await executionOf(client.get(params.id), query.execution);
      const events = await handle.history({ execution: number });
      const { spans, marks } = timelineOf(events, codec);
      const all = [...spans, ...marks]
        .map(({ sequence }) => sequence)
        .filter((sequence) => sequence > after)
        .sort((a, b) => a - b);
      const until = all[limit - 1] ?? Infinity;
      const isMeant = ({ sequence }: { sequence: number }): boolean =>
        sequence > after && sequence <= until;
      return {
        execution: number,
        events: events.length,
        spans: spans.filter(isMeant),
        marks: marks.filter(isMeant),
        ...(all.length > limit ? { next: until } : {}),
      };
    },
  }),
  answers({
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
        ...(completedAt === undefined ? {} : { completedAt: completedAt.toISOString() }),
      }));
      return { items };
    },
  }),
  answers({
    ...row,
    path: "/instances/:id/completed",
    operation: "listCompletedWork",
    summary: "What an execution has completed, by name: a restart runs it again.",
    query: v.strictObject(ofExecution),
    answer: v.object({ items: v.array(completedWork) }),
    run: async ({ services: { client }, params, query }) => ({
      items: [...(await client.get(params.id).completedWork(query))],
    }),
  }),
  answers({
    ...row,
    path: "/instances/:id/unread",
    operation: "listUnread",
    summary: "Events that were sent and not read, oldest first, a page at a time.",
    query: v.strictObject({
      cursor: v.exactOptional(v.string()),
      limit: v.exactOptional(queryWhole({ min: 1, max: EVENTS_MAX })),
    }),
    answer: unreadPage,
    run: async ({ services: { client }, params, query }) =>
      unreadToHttp(await client.get(params.id).unread(query)),
  }),
  answers({
    ...row,
    path: "/instances/:id/kv",
    operation: "listKeyValues",
    summary: "The key-values of an instance, by key.",
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
  answers({
    ...row,
    path: "/instances/:id/tree",
    operation: "readTree",
    summary: "The instance, its children and theirs.",
    answer: tree,
    run: async ({ services: { client }, params }) => treeToHttp(await client.get(params.id).tree()),
  }),
  answers({
    ...row,
    path: "/instances/:id/stats",
    operation: "readStatistics",
    summary: "How large an instance is.",
    answer: statistics,
    run: async ({ services: { client }, params }) => client.get(params.id).stats(),
  }),
];

/** The execution that is meant, which must have been one. */
async function executionOf(
  handle: Handle,
  asked: number | undefined,
): Promise<{ handle: Handle; number: number }> {
  if (asked !== undefined) return { handle, number: asked };
  const newest = (await handle.executions()).at(-1)?.execution;
  return { handle, number: newest ?? 1 };
}
