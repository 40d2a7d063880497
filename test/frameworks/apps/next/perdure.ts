// Perdure of this application, for instrumentation.ts and the routes.

import { perdureNext } from "perdure/next";
import { options } from "../shared/orders.ts";

export const perdure = perdureNext({
  ...options,
  context: (headers) => ({ tenant: headers.get("x-tenant") ?? "none" }),
});
