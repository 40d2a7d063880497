// Routes that control instances: cancel, terminate, pause, resume, unblock, restart, fork.
//   - The server records the name of the authenticated caller as `by`. A request cannot choose it.

import { hash } from "node:crypto";
import * as v from "valibot";
import { isPerdureError } from "../../core/errors/errors.ts";
import { keyReused } from "../../client/store.ts";
import type { Handle } from "../../client/handle.ts";
import { defined } from "../../core/values/defined.ts";
import { emptyRoute, jsonRoute, type Call } from "../http/route.ts";
import { started } from "../schemas/instance.ts";
import { byId } from "./instances.ts";

const REASON_CHARS_MAX = 4_096;

export const whyBody = v.strictObject({
  reason: v.exactOptional(v.pipe(v.string(), v.maxLength(REASON_CHARS_MAX))),
});
const nothing = v.strictObject({});

type ControlCall = Call<{ id: string }, undefined, { reason?: string }>;

/** The reason of the request or the default, and the name of the caller. */
export function whyOf(
  { caller, body }: Pick<ControlCall, "caller" | "body">,
  otherwise: string,
): { readonly reason: string; readonly by: string } {
  return { reason: body.reason ?? otherwise, by: caller.name };
}

/** The members that all routes of this file have. */
function row(action: string, summary: string) {
  return {
    method: "POST",
    path: `/instances/:id/${action}`,
    operation: `${action}Instance`,
    summary,
    tag: "life cycle",
    role: "operator",
    params: byId,
  } as const;
}

function controlRoute(
  action: string,
  summary: string,
  run: (handle: Handle, call: ControlCall) => Promise<void>,
) {
  return emptyRoute({
    ...row(action, summary),
    body: whyBody,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED"],
    run: (call) => run(call.services.client.get(call.params.id), call),
  });
}

/** A route without a body, for an instance that has not ended. */
function plainRoute(action: string, summary: string, run: (handle: Handle) => Promise<void>) {
  return emptyRoute({
    ...row(action, summary),
    body: nothing,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED"],
    run: (call) => run(call.services.client.get(call.params.id)),
  });
}

export const lifecycleRoutes = [
  controlRoute(
    "cancel",
    "Requests cancellation. The instance's code can run its cleanup.",
    (handle, call) => handle.cancel(whyOf(call, "cancelled by request")),
  ),
  controlRoute(
    "terminate",
    "Ends the instance immediately, without running its code.",
    (handle, call) => handle.terminate(whyOf(call, "terminated by request")),
  ),
  controlRoute(
    "pause",
    "Pauses the instance: its code does not run until it is resumed.",
    (handle, call) => handle.pause(whyOf(call, "paused by request")),
  ),
  plainRoute("resume", "Continues a paused instance.", (handle) => handle.resume()),
  plainRoute("unblock", "Unblocks the instance, so that a worker replays it again.", (handle) =>
    handle.unblock(),
  ),
  emptyRoute({
    ...row(
      "restart",
      "Runs an ended instance again from the start with the same input, as a new execution.",
    ),
    body: nothing,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_RUNNING"],
    run: ({ services: { client }, params, binding: { requestId } }) =>
      client.get(params.id).restart(defined({ requestId })),
  }),
  jsonRoute({
    ...row("fork", "Starts a new instance with a copy of this one's history up to an event."),
    body: v.strictObject({
      beforeSequence: v.pipe(v.number(), v.integer(), v.minValue(2)),
      execution: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
      id: v.exactOptional(v.string()),
    }),
    answer: started,
    status: 201,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_EXISTS"],
    run: async ({ services: { client, provider }, params, body, binding: { requestId } }) => {
      if (body.id !== undefined || requestId === undefined) {
        return { id: (await client.fork(params.id, body)).id };
      }
      const id = forkId(requestId);
      try {
        return { id: (await client.fork(params.id, { ...body, id })).id };
      } catch (error) {
        if (!isPerdureError(error, "INSTANCE_EXISTS")) throw error;
        // The id is derived from the key. So an earlier request of this caller with this key created the
        // instance.
        const made = await provider.readInstance(id);
        if (made?.copiedUntil !== body.beforeSequence - 1) throw keyReused(id);
        return { id };
      }
    },
  }),
];

/** The same id for a repeated request. The request id already depends on the source instance. */
function forkId(requestId: string): string {
  return hash("sha256", JSON.stringify(["fork", requestId]), "hex").slice(0, 32);
}
