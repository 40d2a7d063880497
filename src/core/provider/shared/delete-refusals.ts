// Why an instance cannot be deleted without force. Stores and the dry run of a client share these.

import type { DeleteResult } from "../admin.ts";

export type DeleteRefusal = Extract<DeleteResult, { readonly kind: "refused" }>;

/** `liveId` is the instance `id` itself or a descendant. */
export function refusedAsLive(id: string, liveId: string): DeleteRefusal {
  const which = liveId === id ? "" : `, a descendant of "${id}",`;
  const message = `Instance "${liveId}"${which} has not ended. Terminate it first, or delete it with force.`;
  return { kind: "refused", code: "INSTANCE_RUNNING", message };
}

export function refusedAsChild(id: string, parentId: string): DeleteRefusal {
  const message = `Instance "${id}" is a child of "${parentId}". Delete the parent, or delete the child with force.`;
  return { kind: "refused", code: "INVALID_ARGUMENT", message };
}
