// How an instance failed, in one line. The log and the command line both use it.
//   FH1. The failure of an activity, a step or a child is named after it: `ActivityError in charge: the bank said no`.

import type { Failure } from "./failure-record.ts";
import { ActivityError, ChildError, StepError } from "./task-errors.ts";

/** `error` is the failure restored by its codec, which holds the name; undefined: it could not be restored. */
export function failureHeadline({ name, message }: Failure, error?: unknown): string {
  const work = failedWork(error);
  if (work !== undefined) return `${name} in ${work}: ${message}`;
  return name === "Error" && message !== "" ? message : [name, message].filter(Boolean).join(": ");
}

function failedWork(error: unknown): string | undefined {
  const work: unknown =
    error instanceof ActivityError
      ? error.activity
      : error instanceof StepError
        ? error.step
        : error instanceof ChildError
          ? error.child
          : undefined;
  return typeof work === "string" ? work : undefined; // it was read from a store
}
