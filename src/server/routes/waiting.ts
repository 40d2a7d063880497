// Routes that wait for a result or a key: the request stays open until the result exists or `timeout`
// expires.
//   - A wait takes at most `waitMs`. The caller repeats the request to wait longer.
//   - A wait occupies a stream slot. It ends when the caller disconnects or loses its access.

import * as v from "valibot";
import type { WaitOptions } from "../../client/waiting.ts";
import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import { OrchestrationError } from "../../core/errors/outcome-errors.ts";
import { defined } from "../../core/values/defined.ts";
import { watchAccess } from "../security/access-watch.ts";
import { jsonRoute, type CallBase } from "../http/route.ts";
import { queryDuration, queryWhole } from "../schemas/common.ts";
import { keyValue, outcome } from "../schemas/instance.ts";
import { toHttp } from "../views/values.ts";
import { endingToHttp } from "../wire/failure.ts";
import { member } from "../wire/instance.ts";
import { byId } from "./instances.ts";

const tag = "inspection";

/** How long to wait, and whether to keep waiting while the instance is blocked or has no worker. */
export const waitQuery = {
  timeout: v.exactOptional(queryDuration),
  onBlocked: v.exactOptional(v.picklist(["wait", "throw"])),
};
export const WAIT_ERRORS = ["BLOCKED", "UNCLAIMED", "STREAMS_EXHAUSTED"] as const;

export const waitingRoutes = [
  jsonRoute({
    method: "GET",
    path: "/instances/:id/result",
    operation: "awaitResult",
    summary:
      "The outcome of an instance; waits for it up to `timeout` (default 0: does not wait). `reason`: why the instance has not ended.",
    tag,
    role: "viewer",
    params: byId,
    query: v.strictObject({ ...waitQuery, execution: v.exactOptional(queryWhole({ min: 1 })) }),
    answer: outcome,
    errors: ["INSTANCE_NOT_FOUND", ...WAIT_ERRORS],
    patient: true,
    run: async (call) => {
      const { params, query, services } = call;
      const handle = services.client.get(params.id);
      const execution = defined({ execution: query.execution });
      try {
        const output = await waiting(call, query, (wait) =>
          handle.result({ ...wait, ...execution }),
        );
        return { ended: true, ...member("output", toHttp(output)) };
      } catch (error) {
        if (error instanceof OrchestrationError) {
          return { ended: true, error: endingToHttp(error, services.codec) };
        }
        if (isPerdureError(error, "TIMEOUT")) return { ended: false, ...reasonOf(error) };
        throw error;
      }
    },
  }),
  jsonRoute({
    method: "GET",
    path: "/instances/:id/kv/:key",
    operation: "readKeyValue",
    summary: "One key-value of an instance; waits for it up to `timeout`.",
    tag,
    role: "viewer",
    params: v.object({ id: v.string(), key: v.string() }),
    query: v.strictObject(waitQuery),
    answer: keyValue,
    errors: ["INSTANCE_NOT_FOUND", ...WAIT_ERRORS],
    patient: true,
    run: async (call) => {
      const { params, query, services } = call;
      const { kv } = services.client.get(params.id);
      try {
        const held = await waiting(call, query, (wait) => kv.waitFor(params.key, wait));
        return { found: true, ...member("value", toHttp(held)) };
      } catch (error) {
        if (isPerdureError(error, "TIMEOUT")) return { found: false, ...reasonOf(error) };
        throw error;
      }
    },
  }),
];

/** Waits in a stream slot, at most `waitMs`. */
export async function waiting<T>(
  call: CallBase,
  { timeout = 0, ...stuck }: { timeout?: number; onBlocked?: "wait" | "throw" },
  wait: (options: WaitOptions) => Promise<T>,
): Promise<T> {
  const { services, caller, request } = call;
  const { waitMs } = services.settings.limits;
  if (timeout > waitMs) {
    const message = `timeout must be at most ${waitMs} milliseconds; got ${timeout}. Repeat the request to wait longer.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  if (timeout === 0) return wait({ timeout, signal: request.signal, ...stuck });
  const slot = services.slots.stream(caller.name, request.signal);
  void watchAccess(call, slot);
  try {
    return await wait({ timeout, signal: slot.signal, ...stuck });
  } catch (error) {
    if (!slot.signal.aborted) throw error;
    await services.access.callerOf(request, call.facts.port); // throws if the access was revoked
    throw new PerdureError("SHUTTING_DOWN", "The server is shutting down.", { cause: error });
  } finally {
    slot.release();
  }
}

/** The reason why a wait timed out, for the answer. */
export function reasonOf({ reason }: PerdureError): { reason?: string } {
  return defined({ reason });
}
