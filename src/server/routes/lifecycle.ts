// The life of an instance, steered from outside. Who did it is the caller, by name, and cannot be chosen.

import { hash } from "node:crypto";
import * as v from "valibot";
import { isPerdureError } from "../../core/errors.ts";
import { keyReused } from "../../client/store.ts";
import type { Handle } from "../../client/handle.ts";
import { acts, answers, type Call } from "../route.ts";
import { started } from "../schemas/instance.ts";
import { byId } from "./instances.ts";

const tag = "life cycle";
const REASON_CHARS_MAX = 4_096;

export const whyBody = v.strictObject({
  reason: v.exactOptional(v.pipe(v.string(), v.maxLength(REASON_CHARS_MAX))),
});
const nothing = v.strictObject({});

type Steer = Call<{ id: string }, undefined, { reason?: string }>;

/** The reason that was given, or that the operation has by default, and who gave it. */
export function whyOf(
  { caller, body }: Pick<Steer, "caller" | "body">,
  otherwise: string,
): { readonly reason: string; readonly by: string } {
  return { reason: body.reason ?? otherwise, by: caller.name };
}

function steering(row: {
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly run: (handle: Handle, call: Steer) => Promise<void>;
}) {
  return acts({
    ...row,
    method: "POST",
    tag,
    role: "operator",
    params: byId,
    body: whyBody,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED"],
    run: (call) => row.run(call.services.client.get(call.params.id), call),
  });
}

export const lifecycleRoutes = [
  steering({
    path: "/instances/:id/cancel",
    operation: "cancelInstance",
    summary: "Asks the instance to end; its code may clean up.",
    run: (handle, call) => handle.cancel(whyOf(call, "cancelled by request")),
  }),
  steering({
    path: "/instances/:id/terminate",
    operation: "terminateInstance",
    summary: "Ends the instance at once, without running its code.",
    run: (handle, call) => handle.terminate(whyOf(call, "terminated by request")),
  }),
  steering({
    path: "/instances/:id/pause",
    operation: "pauseInstance",
    summary: "No further turn runs until it is resumed.",
    run: (handle, call) => handle.pause(whyOf(call, "paused by request")),
  }),
  acts({
    method: "POST",
    path: "/instances/:id/resume",
    operation: "resumeInstance",
    summary: "Lets a paused instance go on.",
    tag,
    role: "operator",
    params: byId,
    body: nothing,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED"],
    run: ({ services: { client }, params }) => client.get(params.id).resume(),
  }),
  acts({
    method: "POST",
    path: "/instances/:id/unblock",
    operation: "unblockInstance",
    summary: "Takes a block away, so that whoever runs the orchestration tries again.",
    tag,
    role: "operator",
    params: byId,
    body: nothing,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED"],
    run: ({ services: { client }, params }) => client.get(params.id).unblock(),
  }),
  acts({
    method: "POST",
    path: "/instances/:id/restart",
    operation: "restartInstance",
    summary: "Runs an ended instance again with the same input, as its next execution.",
    tag,
    role: "operator",
    params: byId,
    body: nothing,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_RUNNING"],
    run: ({ services: { client }, params, binding: { requestId } }) =>
      client.get(params.id).restart(requestId === undefined ? {} : { requestId }),
  }),
  answers({
    method: "POST",
    path: "/instances/:id/fork",
    operation: "forkInstance",
    summary: "A new instance with the past of this one, up to an event.",
    tag,
    role: "operator",
    params: byId,
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
        // The id is made from the key, so an earlier request of this caller with this key made the instance.
        const made = await provider.readInstance(id);
        if (made?.copiedUntil !== body.beforeSequence - 1) throw keyReused(id);
        return { id };
      }
    },
  }),
];

/** A repeated call must lead to the same instance. The request id is bound to the source already. */
function forkId(requestId: string): string {
  return hash("sha256", JSON.stringify(["fork", requestId]), "hex").slice(0, 32);
}
