// The headline of a failure: one line for the log and the command line.
//   - The headline of a TaskError names the activity, step or child: `ActivityError in charge: the bank said
//       no`.

import type { Failure } from "../errors/failure-record.ts";
import { ActivityError, ChildError, StepError } from "../errors/task-errors.ts";

/**
 * `error`: the failure as the codec restored it, for the name of the work; undefined if it could not be
 * restored.
 */
export function failureHeadline({ name, message }: Failure, error?: unknown): string {
  const work = failedWork(error);
  if (work !== undefined) return `${name} in ${work}: ${message}`;
  return name === "Error" && message !== "" ? message : [name, message].filter(Boolean).join(": ");
}

function failedWork(error: unknown): string | undefined {
  let work: unknown;
  if (error instanceof ActivityError) work = error.activity;
  else if (error instanceof StepError) work = error.step;
  else if (error instanceof ChildError) work = error.child;
  return typeof work === "string" ? work : undefined; // the value comes from a store and may have any type
}
