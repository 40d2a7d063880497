// The nodes of a flow that an instance runs: where each stands, and what it gave.

import * as v from "valibot";
import { defaultCodec } from "../../core/codec.ts";
import { isPerdureError } from "../../core/errors.ts";
import { toFailure } from "../../core/failure.ts";
import { CancelledError } from "../../core/outcome-errors.ts";
import { TaskError } from "../../core/task-errors.ts";
import { answers } from "../route.ts";
import { node, nodeOutcome } from "../schemas/node.ts";
import { toHttp } from "../values.ts";
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
  answers({
    ...row,
    path: "/instances/:id/nodes/:node",
    operation: "describeNode",
    summary: "Where the newest run of a flow's node stands; by path or id.",
    answer: v.object({
      /** Absent: it has not been reached. */
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
          ...(endedAt === undefined ? {} : { endedAt: endedAt.toISOString() }),
        },
      };
    },
  }),
  answers({
    ...row,
    path: "/instances/:id/nodes/:node/result",
    operation: "awaitNode",
    summary: "What a flow's node gave; waits for it up to `timeout`.",
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
