// The fields that say what a log line is about. Every line about an instance or an attempt has them all.

import type { ActivityInfo } from "./activity-context.ts";
import type { LogFields } from "./log.ts";

export interface LoggedInstance {
  readonly id: string;
  readonly execution: number;
  readonly name: string;
  /** Null: no turn has chosen one yet. */
  readonly version: string | null;
}

export function instanceFields({ id, execution, name, version }: LoggedInstance): LogFields {
  const known = version === null ? {} : { version };
  return { instance: id, execution, orchestration: name, ...known };
}

export function attemptFields(
  kind: "activity" | "step",
  attempt: number,
  info: ActivityInfo,
): LogFields {
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
