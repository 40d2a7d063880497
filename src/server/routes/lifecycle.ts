// Routes that control instances: cancel, terminate, pause, resume, unblock.
//   - The server records the name of the authenticated caller as `by`. A request cannot choose it.

import * as v from "valibot";
import type { Handle } from "../../client/handle.ts";
import { emptyRoute, type Call } from "../http/route.ts";
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

/** The members that the routes of the life cycle have. */
export function row(action: string, summary: string) {
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
];
