// Failures of activities, steps and children as values, so that they can be part of a result.

import { TaskError } from "../../../core/errors/task-errors.ts";

/** The value of the task, or ["failed", kind]. Cancellations are thrown on. */
export async function failureAsValue(task: Promise<unknown>): Promise<unknown> {
  try {
    return await task;
  } catch (error) {
    if (error instanceof TaskError) return ["failed", error.kind];
    throw error;
  }
}
