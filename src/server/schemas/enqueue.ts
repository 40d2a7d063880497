// The request that enqueues a job.

import * as v from "valibot";
import { attributes, context, duration, given, timestamp } from "./common.ts";

const key = v.string();

export const enqueueBody = v.strictObject({
  input: v.exactOptional(given),
  id: v.exactOptional(v.string()),
  /** For the limits per key and the fair order of the queue. */
  key: v.exactOptional(key),
  delay: v.exactOptional(duration),
  at: v.exactOptional(timestamp),
  priority: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5))),
  attributes: v.exactOptional(attributes),
  context: v.exactOptional(context),
  requestId: v.exactOptional(v.string()),
  /** At most one job with this key is pending or running. */
  unique: v.exactOptional(
    v.union([
      key,
      v.strictObject({
        key,
        onConflict: v.exactOptional(v.picklist(["useExisting", "fail", "replace"])),
      }),
    ]),
  ),
  /** Runs once after calls with this key have stopped. */
  debounce: v.exactOptional(
    v.strictObject({ key, wait: duration, max: v.exactOptional(duration) }),
  ),
  /** Runs at most once per time and key. */
  throttle: v.exactOptional(
    v.strictObject({ key, per: duration, trailing: v.exactOptional(v.boolean()) }),
  ),
});
