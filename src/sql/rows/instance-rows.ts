// Instance rows: the columns that are read of an instance, and their mapping to the records of the contract.

import { checksumOf, isDamaged } from "../../core/values/checksum.ts";
import type { ParentLink } from "../../core/history/events.ts";
import {
  LISTED_BYTES_MAX,
  type DamagedPart,
  type FoundInstance,
  type InstanceExecution,
  type InstanceRecord,
  type InstanceStatus,
  type LeasedInstance,
  type ListedInstance,
} from "../../core/provider/instances.ts";
import { INSTANCE_STATUSES, isAttributes } from "../../core/provider/shared/row-checks.ts";
import {
  integer,
  integerOrNull,
  text,
  textOrNull,
  flag,
  word,
  json,
  type Row,
} from "../columns.ts";

/** SQL for the target that a runtime must register to lease the instance `i` (`targets` in the contract). */
export const TARGET = `
  CASE WHEN i.version IS NULL THEN i.name ELSE i.name || '@' || i.version
    || CASE WHEN i.replay_version > 1 THEN '#' || i.replay_version ELSE '' END END`;

export const HEAD_COLUMNS = `
  key, id, run_id, name, execution, status, last_event, blocked, paused, cancel_requested, error,
  lease_owner, lease_token, parent_id, parent_run_id, parent_execution, parent_sequence`;
export const RECEIVER_COLUMNS = "key, id, run_id, name, execution, status, last_event";
/** Columns of a record whose values are always short. */
const SHORT_COLUMNS = `
  key, id, run_id, name, version, execution, status, blocked, paused,
  status_version, cancel_requested, parent_id, parent_run_id, parent_execution, parent_sequence,
  priority, last_event, copied_until, lease_owner, created_at, updated_at, completed_at`;
export const RECORD_COLUMNS = `${SHORT_COLUMNS},
  output, error, custom_status, attributes,
  ending_checksum, custom_status_checksum, attributes_checksum`;
const FITS = (column: string): string => `octet_length(${column}) <= ${LISTED_BYTES_MAX}`;
/** Columns of a list (admin.5). A text that is too long is replaced, and so is its checksum. */
export const LISTED_COLUMNS = `${SHORT_COLUMNS},
  NULL AS output,
  CASE WHEN ${FITS("error")} THEN error END AS error,
  CASE WHEN ${FITS("error")} THEN ending_checksum END AS ending_checksum,
  octet_length(error) AS error_bytes,
  CASE WHEN ${FITS("custom_status")} THEN custom_status END AS custom_status,
  CASE WHEN ${FITS("custom_status")} THEN custom_status_checksum END AS custom_status_checksum,
  octet_length(custom_status) AS custom_status_bytes,
  CASE WHEN ${FITS("attributes")} THEN attributes ELSE '{}' END AS attributes,
  CASE WHEN ${FITS("attributes")} THEN attributes_checksum ELSE ${checksumOf("{}")} END AS attributes_checksum,
  octet_length(attributes) AS attributes_bytes`;
/** Columns of a search. */
export const FOUND_COLUMNS = "key, id, status, created_at, completed_at";

/** The columns that decide about an item for this instance. */
export interface InstanceHead {
  readonly key: number;
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly execution: number;
  readonly status: InstanceStatus;
  readonly lastEvent: number;
  readonly blocked: string | null;
  readonly paused: string | null;
  readonly cancelRequested: string | null;
  readonly error: string | null;
  readonly owner: string | null;
  readonly token: number | null;
  readonly parent: ParentLink | null;
}

/** The part of a head that decides about a message for this instance. */
export type Receiver = Pick<
  InstanceHead,
  "key" | "id" | "runId" | "name" | "execution" | "status" | "lastEvent"
>;

/** Texts that a list leaves out if they are too long, and the columns that hold their sizes. */
const LISTED_TEXTS = [
  ["error", "error_bytes"],
  ["customStatus", "custom_status_bytes"],
  ["attributes", "attributes_bytes"],
] as const;

/** Reads HEAD_COLUMNS. Null: there is no such instance. */
export function toHead(row: Row | undefined): InstanceHead | null {
  if (row === undefined) return null;
  return {
    ...receiverOf(row),
    blocked: textOrNull(row, "blocked"),
    paused: textOrNull(row, "paused"),
    cancelRequested: textOrNull(row, "cancel_requested"),
    error: textOrNull(row, "error"),
    owner: textOrNull(row, "lease_owner"),
    token: integerOrNull(row, "lease_token"),
    parent: toParent(row),
  };
}

/** Reads RECEIVER_COLUMNS. Null: there is no such instance. */
export function toReceiver(row: Row | undefined): Receiver | null {
  return row === undefined ? null : receiverOf(row);
}

function receiverOf(row: Row): Receiver {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    runId: text(row, "run_id"),
    name: text(row, "name"),
    execution: integer(row, "execution"),
    status: word(row, "status", INSTANCE_STATUSES),
    lastEvent: integer(row, "last_event"),
  };
}

function toExecution(row: Row): InstanceExecution {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    runId: text(row, "run_id"),
    name: text(row, "name"),
    version: textOrNull(row, "version"),
    execution: integer(row, "execution"),
  };
}

/** Reads RECORD_COLUMNS. */
export function toRecord(row: Row): InstanceRecord {
  const damaged = damagedParts(row);
  return {
    ...toExecution(row),
    status: word(row, "status", INSTANCE_STATUSES),
    output: textOrNull(row, "output"),
    error: textOrNull(row, "error"),
    blocked: textOrNull(row, "blocked"),
    paused: textOrNull(row, "paused"),
    customStatus: textOrNull(row, "custom_status"),
    customStatusVersion: integer(row, "status_version"),
    cancelRequested: textOrNull(row, "cancel_requested"),
    parent: toParent(row),
    attributes: json(row, "attributes", isAttributes) ?? {},
    priority: integer(row, "priority"),
    lastEvent: integer(row, "last_event"),
    copiedUntil: integer(row, "copied_until"),
    owner: textOrNull(row, "lease_owner"),
    createdAt: integer(row, "created_at"),
    updatedAt: integer(row, "updated_at"),
    completedAt: integerOrNull(row, "completed_at"),
    ...(damaged.length === 0 ? {} : { damaged }),
  };
}

/** Reads the columns of a list: a record without its output, and the sizes of its texts (admin.5). */
export function toListed(row: Row): ListedInstance {
  const { output: _, ...record } = toRecord(row);
  const tooLong = LISTED_TEXTS.flatMap(([name, column]) => {
    const bytes = integerOrNull(row, column) ?? 0;
    return bytes > LISTED_BYTES_MAX ? [[name, bytes] as const] : [];
  });
  return tooLong.length === 0 ? record : { ...record, leftOut: Object.fromEntries(tooLong) };
}

export function toFound(row: Row): FoundInstance {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    status: word(row, "status", INSTANCE_STATUSES),
    createdAt: integer(row, "created_at"),
    completedAt: integerOrNull(row, "completed_at"),
  };
}

export function toLeased(row: Row): Omit<LeasedInstance, "fresh" | "messages" | "history"> {
  return {
    ...toExecution(row),
    token: integer(row, "lease_token"),
    lastEvent: integer(row, "last_event"),
    priority: integer(row, "priority"),
    copiedUntil: integer(row, "copied_until"),
    suspicion: integer(row, "suspicion"),
    blocked: textOrNull(row, "blocked"),
    stepsOpen: flag(row, "steps_open"),
  };
}

function damagedParts(row: Row): DamagedPart[] {
  const parts: DamagedPart[] = [];
  const ending = [textOrNull(row, "output"), textOrNull(row, "error")] as const;
  if (isDamaged(integerOrNull(row, "ending_checksum"), ...ending)) parts.push("ending");
  const status = textOrNull(row, "custom_status");
  if (isDamaged(integerOrNull(row, "custom_status_checksum"), status)) parts.push("customStatus");
  const attributes = text(row, "attributes");
  if (isDamaged(integerOrNull(row, "attributes_checksum"), attributes)) parts.push("attributes");
  return parts;
}

function toParent(row: Row): ParentLink | null {
  const id = textOrNull(row, "parent_id");
  if (id === null) return null;
  return {
    id,
    runId: text(row, "parent_run_id"),
    execution: integer(row, "parent_execution"),
    sequence: integer(row, "parent_sequence"),
  };
}

/** Reads the column status of a LEFT JOIN. Null: there is no such instance. */
export function toStatus(row: Row): InstanceStatus | null {
  return row["status"] === null ? null : word(row, "status", INSTANCE_STATUSES);
}
