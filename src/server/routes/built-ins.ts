// Routes that show schedules, limiters and entities. Operations on them are operations on their instances: pause, resume,
// and the event "trigger" of a schedule.

import * as v from "valibot";
import { jsonRoute } from "../http/route.ts";
import { entityName, entityPage, limiter, schedule } from "../schemas/built-ins.ts";
import { queryWhole } from "../schemas/common.ts";
import { PAGE_MAX } from "../schemas/filter.ts";
import {
  entitiesOf,
  entityNames,
  limitersOf,
  scheduleOf,
  schedulesOf,
} from "../views/built-ins.ts";

const tag = "built-ins";
const byName = v.object({ name: v.string() });
const read = { method: "GET", tag, role: "viewer" } as const;

export const builtInRoutes = [
  jsonRoute({
    ...read,
    path: "/schedules",
    operation: "listSchedules",
    summary: "The schedules that workers register: rule, next time, latest run.",
    answer: v.object({ items: v.array(schedule) }),
    run: async ({ services }) => ({ items: [...(await schedulesOf(services))] }),
  }),
  jsonRoute({
    ...read,
    path: "/schedules/:name",
    operation: "readSchedule",
    summary:
      "One schedule. Its runs are the instances with the attribute `schedule`; the event `trigger` starts one.",
    params: byName,
    answer: schedule,
    run: ({ services: { client }, params }) => scheduleOf(client, params.name),
  }),
  jsonRoute({
    ...read,
    path: "/limiters",
    operation: "listLimiters",
    summary:
      "The limiters that workers register, with the keys in use: slots, holders, callers that wait.",
    answer: v.object({ items: v.array(limiter) }),
    run: async ({ services }) => ({ items: [...(await limitersOf(services))] }),
  }),
  jsonRoute({
    ...read,
    path: "/entities",
    operation: "listEntities",
    summary: "The entities that workers register, with the number of keys.",
    answer: v.object({ items: v.array(entityName) }),
    run: async ({ services }) => ({ items: [...(await entityNames(services))] }),
  }),
  jsonRoute({
    ...read,
    path: "/entities/:name",
    operation: "readEntities",
    summary: "The keys of an entity with their states, newest first, page by page.",
    params: byName,
    query: v.strictObject({
      prefix: v.exactOptional(v.string()),
      cursor: v.exactOptional(v.pipe(v.string(), v.maxLength(500))),
      limit: v.exactOptional(queryWhole({ min: 1, max: PAGE_MAX })),
    }),
    answer: entityPage,
    run: ({ services, params, query }) => entitiesOf(services, params.name, query),
  }),
];
