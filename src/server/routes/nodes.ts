// Routes of a flow's nodes: their state and their results.

import * as v from "valibot";
import { defaultCodec } from "../../core/values/codec.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { toFailure } from "../../core/errors/failure.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import { TaskError } from "../../core/errors/task-errors.ts";
import { defined } from "../../core/values/defined.ts";
import { jsonRoute } from "../http/route.ts";
import { node, nodeOutcome } from "../schemas/node.ts";
import { toHttp } from "../views/values.ts";
import { failureToHttp } from "../wire/failure.ts";
import { member } from "../wire/instance.ts";
import { reasonOf, waitQuery, waiting, WAIT_ERRORS } from "./waiting.ts";

const row = {
  method: "GET",
  tag: "inspection",
  role: "viewer",
  params: v.object({ id: v.string(), node: v.string() }),
} as const;

export const nodeRoutes = [
  jsonRoute({
    ...row,
    path: "/instances/:id/nodes/:node",
    operation: "describeNode",
    summary: "The state of the newest run of a flow's node, by path or id.",
    answer: v.object({
      /** Absent: the flow has not reached the node. */
      node: v.exactOptional(node),
    }),
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client }, params }) => {
      const found = await client.get(params.id).node(params.node).describe();
      if (found === undefined) return {};
      const { startedAt, endedAt, ...rest } = found;
      return {
        node: {
          ...rest,
          startedAt: startedAt.toISOString(),
          ...defined({ endedAt: endedAt?.toISOString() }),
        },
      };
    },
  }),
  jsonRoute({
    ...row,
    path: "/instances/:id/nodes/:node/result",
    operation: "awaitNode",
    summary: "The result of a flow's node; waits for it up to `timeout`.",
    query: v.strictObject(waitQuery),
    answer: nodeOutcome,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_FINISHED", ...WAIT_ERRORS],
    patient: true,
    run: async (call) => {
      const { params, query, services } = call;
      const handle = services.client.get(params.id).node(params.node);
      try {
        const output = await waiting(call, query, (wait) => handle.result(wait));
        return { ended: true, ...member("output", toHttp(output)) };
      } catch (error) {
        if (isPerdureError(error, "TIMEOUT")) return { ended: false, ...reasonOf(error) };
        if (!(error instanceof TaskError || error instanceof CancelledError)) throw error;
        return { ended: true, failure: failureToHttp(toFailure(error), defaultCodec) };
      }
    },
  }),
];
