// The API's own description, of this version.

import { documentOf } from "./openapi.ts";
import { packageVersion } from "./package-facts.ts";
import { ROUTES } from "./routes/index.ts";

/** The OpenAPI 3.1 document that the server tells of itself, without a server. */
export function openApiDocument(): object {
  return documentOf(ROUTES, packageVersion());
}
