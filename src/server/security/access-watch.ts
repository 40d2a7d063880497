// Watches the access of streams and long waits: they end when their caller loses its access (S7).
//   - The check runs on a timer, every `heartbeatMs`. It does not depend on what the stream sends. So
//        neither a busy stream nor a reader that stopped reading keeps a revoked token usable.
//   - A failing check ends the request, whatever the reason.

import { pause } from "../http/pauses.ts";
import { mayActAs } from "./roles.ts";
import type { CallBase } from "../http/route.ts";
import type { StreamSlot } from "./concurrency-slots.ts";

/** Releases the slot when the caller loses the role viewer. Returns when the slot is released. */
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
