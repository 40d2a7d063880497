// How an instance or one of its executions ended, as its caller sees it.

import type { Codec } from "../core/codec.ts";
import { PerdureError } from "../core/errors.ts";
import { fromFailure, openFailure } from "../core/failure.ts";
import type { EventBody, OrchestrationFailed } from "../core/history-events.ts";
import { OrchestrationError } from "../core/outcome-errors.ts";
import {
  isTerminalStatus,
  type InstanceRecord,
  type ListedInstance,
} from "../core/provider/index.ts";

export type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly error: OrchestrationError };

/** Null while the instance is not at its end. */
export function outcomeOf(record: InstanceRecord, codec: Codec): Outcome | null {
  if (record.damaged?.includes("ending") === true)
    throw damagedPart(record, "status, output or error");
  if (!isTerminalStatus(record.status)) return null;
  if (record.status === "completed") {
    return { kind: "value", value: codec.decode(record.output ?? "null") };
  }
  return { kind: "error", error: orchestrationError(parseFailed(record.error), codec) };
}

/** Null unless the instance ended with an error that the list has read. */
export function listedErrorOf(listed: ListedInstance, codec: Codec): Outcome | null {
  if (listed.damaged?.includes("ending") === true) throw damagedPart(listed, "status or error");
  if (listed.error === null) return null;
  return { kind: "error", error: orchestrationError(parseFailed(listed.error), codec) };
}

/** Null when the event does not end an execution with a result. */
export function outcomeOfEvent(body: EventBody, codec: Codec): Outcome | null {
  if (body.kind === "OrchestrationCompleted") {
    return { kind: "value", value: codec.decode(body.output) };
  }
  if (body.kind === "OrchestrationFailed") {
    return { kind: "error", error: orchestrationError(body, codec) };
  }
  return null;
}

function orchestrationError(failed: OrchestrationFailed, codec: Codec): OrchestrationError {
  const opened = openFailure(failed.failure, codec);
  const error = new OrchestrationError({
    kind: failed.outcome,
    failure: opened,
    cause: fromFailure(opened, codec),
  });
  if (failed.compensationFailures === undefined) return error;
  const compensationErrors = failed.compensationFailures.map((failure) =>
    fromFailure(failure, codec),
  );
  return Object.assign(error, { compensationErrors });
}

export function damagedPart({ id }: Pick<InstanceRecord, "id">, what: string): PerdureError {
  const message = `The ${what} of instance "${id}" is not what was written: its checksum differs.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}

function parseFailed(text: string | null): OrchestrationFailed {
  const parsed: unknown = text === null ? null : JSON.parse(text);
  if (typeof parsed === "object" && parsed !== null && "failure" in parsed) {
    return parsed as OrchestrationFailed; // written by the engine from that very type
  }
  throw new PerdureError("HISTORY_CORRUPT", "The stored error of the instance cannot be read.");
}
