// The outcome of an instance or of one of its executions: the value that `result` returns, or the error it
// throws.

import type { Codec } from "../core/values/codec.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { toOrchestrationError } from "../core/errors/failure.ts";
import type { EventBody, OrchestrationFailed } from "../core/history/events.ts";
import type { OrchestrationError } from "../core/errors/outcome-errors.ts";
import {
  isTerminalStatus,
  type InstanceRecord,
  type ListedInstance,
} from "../core/provider/index.ts";

/** The instance that an error is about. */
type Named = Pick<InstanceRecord, "id" | "name">;

export type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly error: OrchestrationError };

/** What an outcome is made of. */
type Ended = Named & Pick<InstanceRecord, "status" | "output" | "error" | "damaged">;

/** Null: the instance has not ended. */
export function outcomeOf(record: Ended, codec: Codec): Outcome | null {
  if (record.damaged?.includes("ending") === true)
    throw damagedPart(record, "status, output or error");
  if (!isTerminalStatus(record.status)) return null;
  if (record.status === "completed") {
    return { kind: "value", value: codec.decode(record.output ?? "null") };
  }
  return { kind: "error", error: toOrchestrationError(parseFailed(record.error), record, codec) };
}

/**
 * Null: the instance did not end with an error, or the list did not read the error because it is too long.
 */
export function listedErrorOf(listed: ListedInstance, codec: Codec): Outcome | null {
  if (listed.damaged?.includes("ending") === true) throw damagedPart(listed, "status or error");
  if (listed.error === null) return null;
  return { kind: "error", error: toOrchestrationError(parseFailed(listed.error), listed, codec) };
}

/** Null: the event does not end an execution with a value or an error. */
export function outcomeOfEvent(body: EventBody, instance: Named, codec: Codec): Outcome | null {
  if (body.kind === "OrchestrationCompleted") {
    return { kind: "value", value: codec.decode(body.output) };
  }
  if (body.kind === "OrchestrationFailed") {
    return { kind: "error", error: toOrchestrationError(body, instance, codec) };
  }
  return null;
}

export function damagedPart({ id }: Pick<InstanceRecord, "id">, what: string): PerdureError {
  const message = `The stored ${what} of instance "${id}" is corrupt: its checksum does not match.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}

function parseFailed(text: string | null): OrchestrationFailed {
  const parsed: unknown = text === null ? null : JSON.parse(text);
  if (typeof parsed === "object" && parsed !== null && "failure" in parsed) {
    return parsed as OrchestrationFailed; // The engine wrote it from this type.
  }
  throw new PerdureError("HISTORY_CORRUPT", "The stored error of the instance cannot be decoded.");
}
