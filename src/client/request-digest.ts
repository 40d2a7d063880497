// The request digest option of `start` and `raise`.

import { PerdureError } from "../core/errors/errors.ts";
import { parseRequestDigest } from "../core/ids/ids.ts";

/**
 * The digest as a member of a commit item. A digest requires a request id: without one it would never be
 * compared.
 */
export function requestDigestOf(options: {
  readonly requestId?: string | undefined;
  readonly requestDigest?: string | undefined;
}): { readonly requestDigest?: string } {
  const { requestId, requestDigest } = options;
  if (requestDigest === undefined) return {};
  if (requestId === undefined) {
    throw new PerdureError("INVALID_ARGUMENT", "requestDigest requires a requestId.");
  }
  return { requestDigest: parseRequestDigest(requestDigest) };
}
