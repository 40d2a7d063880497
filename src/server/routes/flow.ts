// The flow that an instance runs, as data: what a dashboard draws.

import * as v from "valibot";
import { toldDefinition } from "../../core/told-flows.ts";
import { answers } from "../route.ts";
import { byId } from "./instances.ts";

export const flowRoutes = [
  answers({
    method: "GET",
    path: "/instances/:id/flow",
    operation: "readFlow",
    summary: "The definition of the flow that an instance runs, as far as a live runtime tells it.",
    tag: "inspection",
    role: "viewer",
    params: byId,
    answer: v.object({
      /** Absent for an orchestration, and where no runtime that is there registers this version. */
      definition: v.exactOptional(
        v.pipe(v.unknown(), v.metadata({ type: "object", additionalProperties: true })),
      ),
    }),
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client, provider }, params }) => {
      const { name, version } = await client.get(params.id).describe();
      if (version === undefined) return {};
      const definition = toldDefinition(await provider.listRuntimes(), name, version);
      return definition === undefined ? {} : { definition };
    },
  }),
];
