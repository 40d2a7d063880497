// The executions of an instance for `handle.executions`, oldest first.

import { PerdureError } from "../../core/errors/errors.ts";
import type { EventBody } from "../../core/history/events.ts";
import type { ExecutionRecord, InstanceRecord, InstanceStatus } from "../../core/provider/index.ts";

/** One execution of an instance. */
export interface ExecutionInfo {
  readonly execution: number;
  readonly status: InstanceStatus | "continuedAsNew";
  readonly events: number;
  readonly startedAt: Date;
  readonly completedAt?: Date;
}

export function executionsOf(
  record: InstanceRecord,
  list: readonly ExecutionRecord[],
): readonly ExecutionInfo[] {
  const infos = list.map((execution): ExecutionInfo => {
    const ended = statusOf(execution);
    return {
      execution: execution.execution,
      status: ended ?? record.status,
      events: execution.lastEvent,
      startedAt: new Date(execution.startedAt),
      ...(ended === null ? {} : { completedAt: new Date(execution.lastAt) }),
    };
  });
  if (infos.some((info) => info.execution === record.execution)) return infos;
  // The newest execution has no history until its first turn.
  const startedAt = new Date(record.updatedAt);
  return [...infos, { execution: record.execution, status: record.status, events: 0, startedAt }];
}

/** Null: the execution has not ended. */
function statusOf(execution: ExecutionRecord): ExecutionInfo["status"] | null {
  const body = lastOf(execution);
  if (body.kind === "OrchestrationCompleted") return "completed";
  if (body.kind === "OrchestrationFailed") return body.outcome;
  return body.kind === "OrchestrationContinuedAsNew" ? "continuedAsNew" : null;
}

function lastOf({ execution, lastBody, damaged }: ExecutionRecord): EventBody {
  const message = `The first or the last history row of execution ${execution} is corrupt.`;
  if (damaged === true) throw new PerdureError("HISTORY_CORRUPT", message);
  try {
    return JSON.parse(lastBody) as EventBody; // The engine wrote it from this type.
  } catch (cause) {
    throw new PerdureError("HISTORY_CORRUPT", message, { cause });
  }
}
