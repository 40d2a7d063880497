// Log fields that identify an instance or an attempt. Every line about one has all of its fields.

import type { ActivityInfo } from "../context/activity-context.ts";
import type { LogFields } from "./log.ts";

export interface LoggedInstance {
  readonly id: string;
  readonly execution: number;
  readonly name: string;
  /** Null if no turn has chosen a version yet. */
  readonly version: string | null;
}

export function instanceFields({ id, execution, name, version }: LoggedInstance): LogFields {
  const known = version === null ? {} : { version };
  return { instance: id, execution, orchestration: name, ...known };
}

export interface LoggedAttempt {
  readonly kind: "activity" | "step";
  readonly attempt: number;
  readonly info: ActivityInfo;
}

export function attemptFields({ kind, attempt, info }: LoggedAttempt): LogFields {
  const { instanceId, executionId, orchestration, orchestrationVersion, worker, tags } = info;
  return {
    instance: instanceId,
    execution: executionId,
    orchestration,
    version: orchestrationVersion,
    [kind]: info.activity,
    attempt,
    worker,
    tags,
  };
}
