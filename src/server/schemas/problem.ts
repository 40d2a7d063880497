// A problem document (RFC 9457).

import * as v from "valibot";
import { failure } from "./failure.ts";

export const problem = v.object({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  code: v.string(),
  detail: v.string(),
  path: v.exactOptional(v.string()),
  reason: v.exactOptional(v.string()),
  kind: v.exactOptional(v.picklist(["refused", "failed"])),
  failure: v.exactOptional(failure),
});
