// A problem document (RFC 9457).

import * as v from "valibot";

export const problem = v.object({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  code: v.string(),
  detail: v.string(),
  path: v.exactOptional(v.string()),
  reason: v.exactOptional(v.string()),
});
