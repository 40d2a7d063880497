// The API, described by itself.

import * as v from "valibot";
import { answers } from "../route.ts";

export const documentRoutes = [
  answers({
    method: "GET",
    path: "/openapi.json",
    operation: "readDocument",
    summary: "This document: OpenAPI 3.1, made from the schemas that requests are checked with.",
    tag: "document",
    role: "viewer",
    answer: v.pipe(v.unknown(), v.metadata({ type: "object" })),
    run: async ({ services: { document } }) => document(),
  }),
];
