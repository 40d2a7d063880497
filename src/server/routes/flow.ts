// The route of a flow's definition. The dashboard draws the flow from it.

import * as v from "valibot";
import { publishedDefinition } from "../../core/define/published-flows.ts";
import { defined } from "../../core/values/defined.ts";
import { jsonRoute } from "../http/route.ts";
import { byId } from "./instances.ts";

export const flowRoutes = [
  jsonRoute({
    method: "GET",
    path: "/instances/:id/flow",
    operation: "readFlow",
    summary: "The definition of the instance's flow, if a live runtime registers it.",
    tag: "inspection",
    role: "viewer",
    params: byId,
    answer: v.object({
      /** Absent for an orchestration that is not a flow, and if no live runtime registers this version. */
      definition: v.exactOptional(
        v.pipe(v.unknown(), v.metadata({ type: "object", additionalProperties: true })),
      ),
    }),
    errors: ["INSTANCE_NOT_FOUND"],
    run: async ({ services: { client, provider }, params }) => {
      const { name, version } = await client.get(params.id).describe();
      if (version === undefined) return {};
      const definition = publishedDefinition(await provider.listRuntimes(), name, version);
      return defined({ definition });
    },
  }),
];
