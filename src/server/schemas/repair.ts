// Repairs: the report of a rewind, and the repairs of an instance.

import * as v from "valibot";
import { timestamp, whole } from "./common.ts";

/** A repair of an instance, oldest first in `repairs` of an instance. */
export const repair = v.object({
  kind: v.picklist(["rewind", "fork", "restart"]),
  at: timestamp,
  reason: v.string(),
  by: v.exactOptional(v.string()),
  /** The execution that was repaired. */
  execution: whole,
  /** The source of a fork. */
  source: v.exactOptional(v.string()),
  /** The copied past contains the events of that execution before this one. Absent: nothing was copied. */
  before: v.exactOptional(whole),
  /** The calls whose outcome the operator replaced. */
  replaced: v.exactOptional(v.array(whole)),
});

const pastWork = v.object({
  kind: v.picklist(["activity", "step", "child", "ask", "timer", "event", "start"]),
  name: v.string(),
  /** The event in the history of the earlier execution. */
  sequence: whole,
});

const rewoundInstance = {
  id: v.string(),
  /** The execution whose past is copied. */
  from: whole,
  /** The execution that begins. */
  execution: whole,
  /** The events before this one are copied. */
  before: whole,
  /** Calls whose outcome is kept: they are not repeated. */
  kept: v.array(pastWork),
  /** Calls before the cut that are done again, with the same idempotency keys. */
  redone: v.array(pastWork),
  /** Work after the cut that has happened and is not undone. The code may do it again. */
  happened: v.array(pastWork),
  /** Compensations, and cleanup after a cancel, that have run and are not undone. */
  compensated: v.array(pastWork),
  /** The names of the events that go back to the mailbox, in order. */
  returned: v.array(v.string()),
  /** Whether the registered code arrives at the end of the copied past. */
  check: v.variant("kind", [
    v.object({ kind: v.literal("ok") }),
    v.object({ kind: v.literal("diverged"), code: v.string(), message: v.string() }),
  ]),
};

/** What a rewind did or, with `dryRun`, would do. */
export const rewindReport = v.object({
  ...rewoundInstance,
  dryRun: v.boolean(),
  /** With `tree`: the other instances, each parent before its child. */
  others: v.array(v.object(rewoundInstance)),
});
