// Outcomes: event texts that the store itself writes, because no code of the instance runs.

import {
  askRefusedFailure,
  cancelledWithoutRun,
  terminated,
} from "../../errors/built-in-failures.ts";
import type { ChildFailed, OrchestrationFailed } from "../../history/events.ts";
import type { CancelItem } from "../commit.ts";

/** The end of an instance that is cancelled while its code cannot run. */
export function cancelledBy(request: string): string {
  return JSON.stringify(cancelledWithoutRun(reasonOf(request)));
}

/** The event for a parent whose child ended with this OrchestrationFailed. */
export function childFailed(scheduled: number, failed: string): string {
  const { outcome, failure }: OrchestrationFailed = JSON.parse(failed);
  const body: ChildFailed = { kind: "ChildFailed", scheduled, outcome, failure };
  return JSON.stringify(body);
}

/** The event for a parent whose child has an id that is taken (semantics 2). */
export function childExists(scheduled: number, id: string): string {
  const failure = askRefusedFailure("INSTANCE_EXISTS", id);
  const body: ChildFailed = { kind: "ChildFailed", scheduled, outcome: "failed", failure };
  return JSON.stringify(body);
}

/** The cancel request for the children of an instance that `terminateExisting` ends. */
export const REPLACED_REQUEST = JSON.stringify({
  kind: "OrchestrationCancelRequested",
  reason: "the parent was started again",
  by: "parent",
});

/** The end of an instance that is deleted while it runs. */
export const DELETED = JSON.stringify(terminated("the instance was deleted while it was running"));

function reasonOf(request: string): string {
  const body: unknown = JSON.parse(request);
  const reason = typeof body === "object" && body !== null && "reason" in body ? body.reason : "";
  return String(reason);
}

/** Whether this cancel was written: it ended the instance, or it was delivered to the code. */
export function isCancelledBy(
  instance: { readonly error: string | null; readonly cancelRequested: string | null } | null,
  { request, cancelled }: CancelItem,
): boolean {
  return instance?.error === cancelled || instance?.cancelRequested === request;
}
