// How an execution ends that its own code does not end: the one place where such a failure is made.

import type { OrchestrationFailed } from "./history-events.ts";

const ERRORS = {
  cancelled: { name: "CancelledError", code: "CANCELLED" },
  terminated: { name: "TerminatedError", code: "TERMINATED" },
} as const;

/** `data` is codec text: properties of the error that it is restored as. */
export function ended(
  outcome: "cancelled" | "terminated",
  message: string,
  data?: string,
): OrchestrationFailed {
  const failure = {
    category: "application",
    kind: outcome,
    ...ERRORS[outcome],
    message,
    retryable: false,
    ...(data === undefined ? {} : { data }),
  } as const;
  return { kind: "OrchestrationFailed", outcome, failure };
}
