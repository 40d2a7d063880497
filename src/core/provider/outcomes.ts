// Outcomes: the event texts that the store composes itself, because no runtime's code is there to do it.

import { ended } from "../endings.ts";
import type { Failure } from "../failure.ts";
import type { ChildFailed, OrchestrationFailed } from "../history-events.ts";
import type { CancelItem } from "./commit.ts";

/** How an instance ends that a cancel reaches while its code cannot run. */
export function cancelledBy(request: string): string {
  return JSON.stringify(ended("cancelled", `canceled: ${reasonOf(request)}`));
}

/** What a parent is told of a child that ended with this OrchestrationFailed. */
export function childFailed(scheduled: number, failed: string): string {
  const { outcome, failure }: OrchestrationFailed = JSON.parse(failed);
  const body: ChildFailed = { kind: "ChildFailed", scheduled, outcome, failure };
  return JSON.stringify(body);
}

/** What a caller is told whose child's id is taken (semantics 2). */
export function childExists(scheduled: number, id: string): string {
  const failure: Failure = {
    category: "application",
    name: "PerdureError",
    code: "INSTANCE_EXISTS",
    message: `An instance with id "${id}" exists already.`,
    retryable: false,
  };
  const body: ChildFailed = { kind: "ChildFailed", scheduled, outcome: "failed", failure };
  return JSON.stringify(body);
}

/** What children are told when `terminateExisting` ends their parent. */
export const REPLACED_REQUEST = JSON.stringify({
  kind: "OrchestrationCancelRequested",
  reason: "the parent was started anew",
  by: "parent",
});

/** How an instance ended that is deleted while it lives. */
export const DELETED = JSON.stringify(
  ended("terminated", "Terminated: it was deleted before it had ended."),
);

function reasonOf(request: string): string {
  const body: unknown = JSON.parse(request);
  const reason = typeof body === "object" && body !== null && "reason" in body ? body.reason : "";
  return String(reason);
}

/** Whether that cancel was written: it has ended the instance, or its code was told. */
export function isCancelledBy(
  instance: { readonly error: string | null; readonly cancelRequested: string | null } | null,
  { request, cancelled }: CancelItem,
): boolean {
  return instance?.error === cancelled || instance?.cancelRequested === request;
}
