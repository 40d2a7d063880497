// The digest of a request, as options give it.

import { PerdureError } from "../core/errors.ts";
import { parseRequestDigest } from "../core/ids.ts";

/** The member of a commit item. A digest belongs to a request id: by itself it would never be compared. */
export function digestOf(options: {
  readonly requestId?: string | undefined;
  readonly requestDigest?: string | undefined;
}): { readonly requestDigest?: string } {
  const { requestId, requestDigest } = options;
  if (requestDigest === undefined) return {};
  if (requestId === undefined) {
    throw new PerdureError("INVALID_ARGUMENT", "requestDigest needs a requestId.");
  }
  return { requestDigest: parseRequestDigest(requestDigest) };
}
