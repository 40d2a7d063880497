// The state of a node of a flow.

import * as v from "valibot";
import { timestamp, value, whole } from "./common.ts";
import { failure } from "./failure.ts";

export const node = v.object({
  path: v.string(),
  kind: v.picklist(["activity", "child", "event", "timer"]),
  name: v.string(),
  status: v.picklist(["running", "completed", "failed", "cancelled"]),
  execution: whole,
  sequence: whole,
  attempts: v.exactOptional(whole),
  startedAt: timestamp,
  endedAt: v.exactOptional(timestamp),
});

export const nodeOutcome = v.variant("ended", [
  v.object({ ended: v.literal(false), reason: v.exactOptional(v.string()) }),
  v.object({
    ended: v.literal(true),
    output: v.exactOptional(value),
    failure: v.exactOptional(failure),
  }),
]);
