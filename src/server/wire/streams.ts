// Converts the streams of an instance to JSON, and the entries of a stream to server-sent events.

import type * as v from "valibot";
import type { StreamEntry, StreamInfo } from "../../client/streams/entries.ts";
import type { ServerSentEvent } from "../http/event-stream.ts";
import type { streamEvent, streamInfo } from "../schemas/streams.ts";
import { toHttp } from "../views/values.ts";
import { member } from "./instance.ts";

export function streamInfoToHttp(info: StreamInfo): v.InferInput<typeof streamInfo> {
  return { ...info, updatedAt: info.updatedAt.toISOString() };
}

/** The id of an event is the offset of its entry. */
export function entryToHttp(
  entry: StreamEntry,
): ServerSentEvent & { readonly data: v.InferInput<typeof streamEvent> } {
  const { kind: event } = entry;
  const data = entryData(entry);
  return { event, data, id: entry.kind === "end" ? "end" : entry.offset };
}

function entryData(entry: StreamEntry): v.InferInput<typeof streamEvent> {
  switch (entry.kind) {
    case "item": {
      const { offset, call, value } = entry;
      return { offset, call, ...member("value", toHttp(value)) };
    }
    case "reset": {
      const { offset, call, from } = entry;
      return { offset, call, from };
    }
    case "end":
      return {};
  }
}
