// Loads OpenTelemetry's API, an optional peer dependency. If it is missing, the import of perdure/otel
// fails with an error that names the package to install.

import type * as api from "@opentelemetry/api";
import { createRequire } from "node:module";
import { PerdureError } from "../core/errors/errors.ts";

type Api = typeof api;

// A static import would fail while Node links this file, before any code could explain the failure. All
// copies of the API share one global registry, so loading this copy with require makes no difference.
export const { context, metrics, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } =
  loadApi();

function loadApi(): Api {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api") as Api; // The package declares this type.
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND";
    if (!isMissing) throw error;
    const message =
      "perdure/otel requires the package @opentelemetry/api; run: npm install @opentelemetry/api";
    throw new PerdureError("INVALID_ARGUMENT", message, { cause: error });
  }
}
