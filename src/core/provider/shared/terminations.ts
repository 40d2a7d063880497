// Terminations: how an instance is ended from outside, and what a start does to an instance with the same id.

import type { ConflictPolicy, StartResult } from "../commit.ts";
import { isTerminalStatus, type InstanceStatus, type TerminalStatus } from "../instances.ts";
import { REPLACED_REQUEST } from "./outcomes.ts";

export interface Termination {
  readonly status: TerminalStatus;
  /** JSON texts of the events to append; the last one is OrchestrationFailed. */
  readonly bodies: readonly [...string[], string];
  /** JSON text of OrchestrationCancelRequested, for the children. */
  readonly childRequest: string;
  readonly cancelRequested: string | null;
}

/**
 * Ends an instance that cannot handle a cancel. `cancelRequested`: the request that it has already, or null.
 */
export function byCancel(
  request: string,
  cancelled: string,
  cancelRequested: string | null,
): Termination {
  return {
    status: "cancelled",
    bodies: cancelRequested === null ? [request, cancelled] : [cancelled],
    childRequest: request,
    cancelRequested: cancelRequested ?? request,
  };
}

/** Ends an instance that a start replaces. */
export function byReplacement(terminated: string, cancelRequested: string | null): Termination {
  return {
    status: "terminated",
    bodies: [terminated],
    childRequest: REPLACED_REQUEST,
    cancelRequested,
  };
}

/** Why the policy refuses a start when the id exists; null: it does not. */
export function conflictRefusal(
  policy: ConflictPolicy,
  status: InstanceStatus,
): Extract<StartResult, { readonly kind: "refused" }> | null {
  if (policy === "fail") return { kind: "refused", code: "INSTANCE_EXISTS" };
  if (policy === "restart" && !isTerminalStatus(status)) {
    return { kind: "refused", code: "INSTANCE_RUNNING" };
  }
  return null;
}
