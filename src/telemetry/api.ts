// OpenTelemetry's API, an optional peer dependency. Without it, importing perdure/otel names the package to install.

import type * as api from "@opentelemetry/api";
import { createRequire } from "node:module";
import { PerdureError } from "../core/errors.ts";

type Api = typeof api;

// A static import would fail while Node links this file, before any line of it could explain the failure. All copies
// of the API share one global registry, so it does not matter that this one is loaded by require.
export const { context, metrics, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } =
  loadApi();

function loadApi(): Api {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api") as Api; // as its declarations say
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND";
    if (!isMissing) throw error;
    const message =
      "perdure/otel needs the package @opentelemetry/api: npm install @opentelemetry/api";
    throw new PerdureError("INVALID_ARGUMENT", message, { cause: error });
  }
}
