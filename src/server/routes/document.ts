// The route of the OpenAPI document.

import * as v from "valibot";
import { jsonRoute } from "../http/route.ts";

export const documentRoutes = [
  jsonRoute({
    method: "GET",
    path: "/openapi.json",
    operation: "readDocument",
    summary: "This document: OpenAPI 3.1, generated from the schemas that validate the requests.",
    tag: "document",
    role: "viewer",
    answer: v.pipe(v.unknown(), v.metadata({ type: "object" })),
    run: async ({ services: { document } }) => document(),
  }),
];
