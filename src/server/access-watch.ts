// Access of requests that last: streams and long waits end when their caller loses its access (S7).
//   AW1. The check runs on a clock, every `heartbeatMs`. It does not depend on what the stream sends, so neither a busy
//        stream nor a reader that stopped reading keeps a revoked token alive.
//   AW2. A check that fails, for whatever reason, ends the request.

import { pause } from "./pauses.ts";
import { mayActAs } from "./roles.ts";
import type { CallBase } from "./route.ts";
import type { StreamSlot } from "./slots.ts";

/** Returns when the slot is released; releases it itself when the caller may no longer view. */
export async function watchAccess(call: CallBase, slot: StreamSlot): Promise<void> {
  const { heartbeatMs } = call.services.settings.limits;
  while (!slot.signal.aborted) {
    await pause(heartbeatMs, slot.signal);
    if (!slot.signal.aborted && !(await hasAccess(call))) slot.release();
  }
}

async function hasAccess({ services, caller, request, facts }: CallBase): Promise<boolean> {
  try {
    const now = await services.access.callerOf(request, facts.port);
    return now.name === caller.name && mayActAs(now, "viewer");
  } catch {
    return false;
  }
}
