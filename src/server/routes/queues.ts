// Routes of queues: figures, pauses, retries of failed jobs, and enqueueing. A queue is the tasks of one activity.
//   - A queue exists for every name, so these routes never answer 404.
//   - The server records the name of the authenticated caller as `by` of a pause.
//   - A job with a key (`unique`, `debounce`, `throttle`) has no request id: its key decides about a repeated request that
//        the server's cache no longer knows.

import * as v from "valibot";
import { rewindable, rewinder } from "../../client/bulk/rewind-many.ts";
import { failedJobs, RETRY } from "../../client/queues/retry-failed.ts";
import { defined } from "../../core/values/defined.ts";
import { emptyRoute, jsonRoute } from "../http/route.ts";
import { bulkAnswer, whichEntries } from "../schemas/bulk.ts";
import { enqueueBody } from "../schemas/enqueue.ts";
import { started } from "../schemas/instance.ts";
import { queue, queueDetail } from "../schemas/queues.ts";
import { storeOf, toPages } from "../views/bulk-work.ts";
import { queueDetailToHttp, queueToHttp } from "../wire/queues.ts";
import { whyBody } from "./lifecycle.ts";
import { whyEntries, whyOf } from "./repairs.ts";

const { limit, dryRun, cursor } = whichEntries;
const tag = "queues";
const byName = v.object({ name: v.string() });
const read = { method: "GET", tag, role: "viewer" } as const;
const write = { method: "POST", tag, role: "operator", params: byName } as const;

export const queueRoutes = [
  jsonRoute({
    ...read,
    path: "/queues",
    operation: "listQueues",
    summary:
      "The queues that have tasks, recent outcomes, failed jobs, a limit or a pause, ordered by name.",
    answer: v.object({ items: v.array(queue) }),
    run: async ({ services: { client } }) => ({ items: (await client.queues()).map(queueToHttp) }),
  }),
  jsonRoute({
    ...read,
    path: "/queues/:name",
    operation: "readQueue",
    summary: "One queue, with the keys that have the most waiting tasks.",
    params: byName,
    answer: queueDetail,
    run: async ({ services: { client }, params }) =>
      queueDetailToHttp(await client.queue(params.name)),
  }),
  emptyRoute({
    ...write,
    path: "/queues/:name/pause",
    operation: "pauseQueue",
    summary:
      "Pauses a queue on all workers: running attempts go on, and no other attempt begins. The first pause counts.",
    body: whyBody,
    run: ({ services: { client }, params, body: { reason }, caller }) =>
      client.pauseQueue(params.name, { by: caller.name, ...defined({ reason }) }),
  }),
  emptyRoute({
    ...write,
    path: "/queues/:name/resume",
    operation: "resumeQueue",
    summary: "Resumes a paused queue.",
    body: v.strictObject({}),
    run: ({ services: { client }, params }) => client.resumeQueue(params.name),
  }),
  jsonRoute({
    ...write,
    path: "/queues/:name/retry-failed",
    operation: "retryFailed",
    summary:
      "Retries the failed jobs of a queue, the oldest first: their activities run again from the first attempt, with the same idempotency keys.",
    body: v.strictObject({ limit, dryRun, cursor, ...whyEntries }),
    answer: bulkAnswer,
    patient: true,
    errors: ["NOT_REGISTERED"],
    run: (call) => {
      const { reason: _reason, by: _by, ...which } = call.body;
      const { requestId } = call.binding;
      const options = { ...RETRY, ...whyOf(call), ...defined({ requestId }) };
      const asked = { filter: failedJobs(call.params.name), ...which };
      return toPages(call, asked, rewindable, rewinder(storeOf(call), options));
    },
  }),
  jsonRoute({
    ...write,
    path: "/queues/:name/jobs",
    operation: "enqueueJob",
    summary:
      "Enqueues a job: an instance that runs the activity of this name. With a `requestId` or an Idempotency-Key, a repeated request returns the first job.",
    body: enqueueBody,
    answer: started,
    status: 201,
    errors: ["INSTANCE_EXISTS", "KEY_REUSED", "LIMIT_EXCEEDED"],
    run: async ({ services: { client }, params, body, binding }) => {
      const { input, ...options } = body;
      const { requestId, unique, debounce, throttle } = options;
      const isKeyed = (unique ?? debounce ?? throttle) !== undefined;
      const bound = isKeyed || requestId !== undefined ? {} : binding;
      const { id } = await client.enqueue(params.name, input, { ...options, ...bound });
      return { id };
    },
  }),
];
