// Routes of the streams of an instance: their list, their entries as server-sent events, and trimming.
//   - instance-streams.1: The `id` of an event is the offset of its entry. A client that reconnects sends the last
//     one as Last-Event-ID and receives the entries after it. This header wins over `from`.
//   - instance-streams.2: The last event has the id `end`. A browser that reconnects with this id gets status 204
//     and stops.
//   - Wrong offsets and a missing instance are refused with a status, before the stream begins.

import * as v from "valibot";
import type { StreamReader } from "../../client/streams/read-stream.ts";
import { invalidArgument } from "../../core/checks.ts";
import { showValue } from "../../core/ids/ids.ts";
import { defined } from "../../core/values/defined.ts";
import { eventStream, type ServerSentEvent } from "../http/event-stream.ts";
import { emptyRoute, eventRoute, jsonRoute } from "../http/route.ts";
import { queryFlag, queryWhole, whole } from "../schemas/common.ts";
import { streamEvent, streamInfo } from "../schemas/streams.ts";
import { entryToHttp, streamInfoToHttp } from "../wire/streams.ts";
import { byId } from "./instances.ts";
import { streamSlot } from "./streams.ts";

const tag = "streams";
const byName = v.object({ id: v.string(), name: v.string() });

export const instanceStreamRoutes = [
  jsonRoute({
    method: "GET",
    path: "/instances/:id/streams",
    operation: "listStreams",
    summary: "The streams of an instance, sorted by name.",
    tag,
    role: "viewer",
    params: byId,
    answer: v.object({ items: v.array(streamInfo) }),
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client }, params }) => ({
      items: (await client.get(params.id).streams()).map(streamInfoToHttp),
    }),
  }),
  eventRoute({
    method: "GET",
    path: "/instances/:id/streams/:name",
    operation: "readStream",
    summary:
      "The entries of a stream of an instance: events `item` and `reset`, then `end`. `from`: the first offset. `settled`: only what successful calls wrote.",
    tag,
    role: "viewer",
    params: byName,
    query: v.strictObject({
      from: v.exactOptional(queryWhole()),
      settled: v.exactOptional(queryFlag),
    }),
    events: streamEvent,
    resumes: true,
    errors: ["INSTANCE_NOT_FOUND", "STREAMS_EXHAUSTED", "HISTORY_CORRUPT"],
    run: async (call) => {
      const { services, params, query, request } = call;
      const last = lastEventId(request); // instance-streams.1
      const from = last === null ? query.from : last === "end" ? undefined : last + 1;
      const options = defined({ from, settled: query.settled });
      const handle = services.client.get(params.id);
      if (last === "end") {
        // instance-streams.2
        handle.stream(params.name, options); // throws for an invalid name
        return null;
      }
      const slot = streamSlot(call);
      try {
        const entries = handle.stream(params.name, { ...options, signal: slot.signal });
        await entries.ready();
        const { heartbeatMs } = services.settings.limits;
        return eventStream({ slot, source: events(entries), heartbeatMs, resumes: true });
      } catch (error) {
        slot.release();
        throw error;
      }
    },
  }),
  emptyRoute({
    method: "POST",
    path: "/instances/:id/streams/:name/trim",
    operation: "trimStream",
    summary: "Deletes the entries of a stream before an offset.",
    tag,
    role: "admin",
    params: byName,
    body: v.strictObject({ before: whole }),
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client }, params, body }) => {
      await client.get(params.id).trim(params.name, body);
    },
  }),
];

async function* events(entries: StreamReader): AsyncGenerator<ServerSentEvent, void, undefined> {
  for await (const entry of entries) yield entryToHttp(entry);
}

/** Null: the request has no such header. */
function lastEventId({ headers }: Request): number | "end" | null {
  const given = headers.get("last-event-id");
  if (given === null || given === "") return null;
  if (given === "end") return given;
  const offset = /^\d{1,15}$/.test(given) ? Number(given) : NaN;
  if (!Number.isNaN(offset)) return offset;
  const shown = showValue(given.slice(0, 80));
  throw invalidArgument(`Last-Event-ID must be the id of an event of the stream; got ${shown}.`);
}
