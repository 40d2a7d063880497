// The option `keepFor`: how long an event waits for an instance that does not exist yet (semantics 18a).

import { invalidArgument } from "../checks.ts";
import { showValue } from "../ids/ids.ts";
import { KEEP_MS, KEEP_MS_MAX } from "../provider/shared/early-messages.ts";
import { parseDuration, type Duration } from "./duration.ts";

/** The duration in milliseconds. Absent: seven days. */
export function parseKeepFor(value: Duration = KEEP_MS): number {
  const ms = parseDuration(value, "keepFor");
  if (ms > 0 && ms <= KEEP_MS_MAX) return ms;
  const rule = ms === 0 ? "greater than zero" : 'at most 10 years ("3653d")';
  throw invalidArgument(`keepFor must be ${rule}; got ${showValue(value)}.`);
}
