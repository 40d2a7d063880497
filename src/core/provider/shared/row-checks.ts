// Row checks: a store checks each row when it reads it, so that it never returns an invalid value.

import { isStoredAttribute, type StoredAttributes } from "../../define/attributes.ts";
import { TERMINAL_STATUSES, type InstanceStatus } from "../instances.ts";
import type { MessageKind, NewTimer } from "../messages.ts";
import type { ProcessIdentity } from "../runtimes.ts";

export const INSTANCE_STATUSES: readonly InstanceStatus[] = [
  "pending",
  "running",
  ...TERMINAL_STATUSES,
];

export const MESSAGE_KINDS: readonly MessageKind[] = [
  "start",
  "activity",
  "step",
  "child",
  "cancel",
  "answer",
  "sent",
  "event",
  "timer",
  "deadline",
  "stepRetry",
  "cancelTimeout",
  "wake",
];
/** Messages that an instance scheduled for later: their time is a due time, not the time of the write. */
export const DELAYED_KINDS: readonly NewTimer["kind"][] = [
  "timer",
  "deadline",
  "stepRetry",
  "cancelTimeout",
];

export function isAttributes(value: unknown): value is StoredAttributes {
  return (
    typeof value === "object" && value !== null && Object.values(value).every(isStoredAttribute)
  );
}

export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  return typeof value === "object" && value !== null && "pid" in value && "bootId" in value;
}
