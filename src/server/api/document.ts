// Builds the OpenAPI document of this version of the package.

import { documentOf } from "./openapi.ts";
import { packageVersion } from "../package-facts.ts";
import { ROUTES } from "../routes/index.ts";

/** Returns the OpenAPI 3.1 document of the HTTP API. Does not need a running server. */
export function openApiDocument(): object {
  return documentOf(ROUTES, packageVersion());
}
