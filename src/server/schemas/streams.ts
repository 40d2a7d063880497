// The streams of an instance, and the data of the events that a stream sends.

import * as v from "valibot";
import { timestamp, value, whole } from "./common.ts";

export const streamInfo = v.object({
  name: v.string(),
  /** The offset of the first entry that is not trimmed. */
  first: whole,
  /** The offset of the next entry. */
  next: whole,
  isClosed: v.boolean(),
  updatedAt: timestamp,
});

/** The data of the event `item`. `value` is absent if it is undefined. */
export const streamItem = v.object({
  offset: whole,
  call: whole,
  value: v.exactOptional(value),
});
/** The data of the event `reset`. */
export const streamReset = v.object({ offset: whole, call: whole, from: whole });

/** The data of an event: `item`, `reset` or `end`. */
export const streamEvent = v.union([streamReset, streamItem, v.object({})]);
