// How an instance that is ended from outside says so in its history.

import type { OrchestrationFailed } from "../core/history-events.ts";

export function ended(outcome: "cancelled" | "terminated", message: string): OrchestrationFailed {
  const name = outcome === "cancelled" ? "CancelledError" : "TerminatedError";
  const failure = {
    category: "application",
    kind: outcome,
    name,
    message,
    retryable: false,
  } as const;
  return { kind: "OrchestrationFailed", outcome, failure };
}
