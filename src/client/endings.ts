// How an instance that is ended from outside says so in its history.

import type { OrchestrationFailed } from "../core/history-events.ts";

/** `data` is codec text: properties of the error that it is restored as. */
export function ended(
  outcome: "cancelled" | "terminated",
  message: string,
  data?: string,
): OrchestrationFailed {
  const name = outcome === "cancelled" ? "CancelledError" : "TerminatedError";
  const failure = {
    category: "application",
    kind: outcome,
    name,
    message,
    retryable: false,
    ...(data === undefined ? {} : { data }),
  } as const;
  return { kind: "OrchestrationFailed", outcome, failure };
}
