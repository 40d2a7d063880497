// Waiting for something over HTTP: the request stays open until it is there, or until its time is over.
//   WR1. A wait takes at most `waitMs`; the caller repeats the request to wait for longer. It holds a stream's slot,
//        and ends when its caller leaves or loses its access.

import * as v from "valibot";
import type { Duration } from "../../core/duration.ts";
import { isPerdureError, PerdureError } from "../../core/errors.ts";
import { OrchestrationError } from "../../core/outcome-errors.ts";
import { watchAccess } from "../access-watch.ts";
import { answers, type CallBase } from "../route.ts";
import { queryDuration, queryWhole, value } from "../schemas/common.ts";
import { outcome } from "../schemas/instance.ts";
import { toHttp } from "../values.ts";
import { endingToHttp } from "../wire/failure.ts";
import { member } from "../wire/instance.ts";
import { byId } from "./instances.ts";

const tag = "inspection";

export const waitingRoutes = [
  answers({
    method: "GET",
    path: "/instances/:id/result",
    operation: "awaitResult",
    summary: "How the instance ended; waits for it up to `timeout`. 0, the default, looks once.",
    tag,
    role: "viewer",
    params: byId,
    query: v.strictObject({
      timeout: v.exactOptional(queryDuration),
      execution: v.exactOptional(queryWhole({ min: 1 })),
    }),
    answer: outcome,
    errors: ["INSTANCE_NOT_FOUND", "STREAMS_EXHAUSTED"],
    patient: true,
    run: async (call) => {
      const { params, query, services } = call;
      const handle = services.client.get(params.id);
      const execution = query.execution === undefined ? {} : { execution: query.execution };
      try {
        const output = await waiting(call, query.timeout, (wait) =>
          handle.result({ ...wait, ...execution }),
        );
        return { ended: true, ...member("output", toHttp(output)) };
      } catch (error) {
        if (error instanceof OrchestrationError) {
          return { ended: true, error: endingToHttp(error, services.codec) };
        }
        if (isPerdureError(error, "TIMEOUT")) return { ended: false };
        throw error;
      }
    },
  }),
  answers({
    method: "GET",
    path: "/instances/:id/kv/:key",
    operation: "readKeyValue",
    summary: "One key of an instance; waits for it up to `timeout`.",
    tag,
    role: "viewer",
    params: v.object({ id: v.string(), key: v.string() }),
    query: v.strictObject({ timeout: v.exactOptional(queryDuration) }),
    answer: v.object({ found: v.boolean(), value: v.exactOptional(value) }),
    errors: ["INSTANCE_NOT_FOUND", "STREAMS_EXHAUSTED"],
    patient: true,
    run: async (call) => {
      const { params, query, services } = call;
      const { kv } = services.client.get(params.id);
      try {
        const held = await waiting(call, query.timeout, (wait) => kv.waitFor(params.key, wait));
        return { found: true, ...member("value", toHttp(held)) };
      } catch (error) {
        if (isPerdureError(error, "TIMEOUT")) return { found: false };
        throw error;
      }
    },
  }),
];

/** Waits in a stream's slot, no longer than the server allows. */
export async function waiting<T>(
  call: CallBase,
  timeoutMs: number | undefined,
  wait: (options: { timeout: Duration; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const { services, caller, request } = call;
  const timeout = timeoutMs ?? 0;
  const { waitMs } = services.settings.limits;
  if (timeout > waitMs) {
    const message = `timeout is at most ${waitMs} milliseconds; ask again to wait for longer.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  if (timeout === 0) return wait({ timeout, signal: request.signal });
  const slot = services.slots.stream(caller.name, request.signal);
  void watchAccess(call, slot);
  try {
    return await wait({ timeout, signal: slot.signal });
  } catch (error) {
    if (!slot.signal.aborted) throw error;
    await services.access.callerOf(request, call.facts.port); // throws if the access was revoked
    throw new PerdureError("SHUTTING_DOWN", "The server is closing.", { cause: error });
  } finally {
    slot.release();
  }
}
