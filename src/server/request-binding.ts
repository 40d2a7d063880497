// Idempotency-Keys, bound to the request that they were sent with.
//   RB1. The request id in the store is made of caller, operation, path parameters and key. So the same key of another
//        caller, or for another instance or route, is another request; and every server process makes the same id.
//   RB2. The digest is made of query and body. The store keeps it with the id, and refuses the id with another digest
//        (KEY_REUSED). The key goes into the digest, so that its text says nothing about a body to a reader of the
//        store who does not know the key.
//   RB3. A generated key stays recognisable as one, with its time: the store forgets such ids (request-ids.ts).

import { createHmac, hash } from "node:crypto";
import { generatedHead } from "../core/request-ids.ts";

/** As `start`, `raise` and `restart` take it. */
export interface RequestBinding {
  readonly requestId: string;
  readonly requestDigest: string;
}

export function bindRequest(
  key: string,
  request: {
    readonly caller: string;
    readonly operation: string;
    readonly params: Readonly<Record<string, string>>;
    /** The query, as it stands in the URL. */
    readonly search: string;
    readonly body: unknown;
  },
): RequestBinding {
  const { caller, operation, params, search, body } = request;
  const place = JSON.stringify([caller, operation, Object.entries(params), key]);
  const asked = JSON.stringify([search, body ?? null]);
  return {
    requestId: `${generatedHead(key) || "http."}${hash("sha256", place, "base64url")}`,
    requestDigest: createHmac("sha256", key).update(asked).digest("base64url"),
  };
}
