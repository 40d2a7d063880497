// Binds an Idempotency-Key to its request.
//   - The request id in the store is derived from caller, operation, path parameters and key. The same key
//        from another caller, or for another instance or route, is therefore another request. Every server
//        process derives the same id.
//   - The digest is derived from query and body. The store keeps it with the id and refuses the id with
//        another digest (KEY_REUSED). The digest is keyed with the Idempotency-Key, so that a reader of the
//        store who does not know the key cannot guess the body from it.
//   - A generated key keeps its recognizable head with its time, because the store removes old generated
//        ids (request-ids.ts).

import { createHmac, hash } from "node:crypto";
import { generatedHead } from "../../core/ids/request-ids.ts";

/** The request id and digest, as options of `start`, `raise` and `restart`. */
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
    /** The query string of the URL. */
    readonly search: string;
    readonly body: unknown;
  },
): RequestBinding {
  const { caller, operation, params, search, body } = request;
  // Sorted: the router of another server may find the parameters in another order.
  const parameters = Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1));
  const identity = JSON.stringify([caller, operation, parameters, key]);
  const content = JSON.stringify([search, body ?? null]);
  return {
    requestId: `${generatedHead(key) || "http."}${hash("sha256", identity, "base64url")}`,
    requestDigest: createHmac("sha256", key).update(content).digest("base64url"),
  };
}
