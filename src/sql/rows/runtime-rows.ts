// Runtime rows: maps rows about runtimes, their leases and their sessions to the records of the contract.

import type { LoadRecord } from "../../core/provider/admin.ts";
import type { DeadWorkerLoad } from "../../core/provider/shared/blame.ts";
import { isProcessIdentity } from "../../core/provider/shared/row-checks.ts";
import { integer, integerOrNull, integers, json, text, textOrNull, type Row } from "../columns.ts";
import type { InstanceLease, RuntimeRecord, TaskLease } from "../../core/provider/runtimes.ts";
import type { SessionRecord } from "../../core/provider/sessions.ts";

export function toRuntime(row: Row): RuntimeRecord {
  return {
    id: text(row, "id"),
    nodeId: text(row, "node_id"),
    hostname: text(row, "hostname"),
    process: row["process"] === null ? null : (json(row, "process", isProcessIdentity) ?? null),
    registered: text(row, "registered"),
    startedAt: integer(row, "started_at"),
    beatAt: integer(row, "beat_at"),
    note: textOrNull(row, "note"),
    leasesCheckedAt: integerOrNull(row, "leases_checked_at"),
    strandedLeases: integer(row, "leases_stranded"),
  };
}

export function toInstanceLease(row: Row): InstanceLease {
  return {
    key: integer(row, "key"),
    token: integer(row, "lease_token"),
    execution: integer(row, "execution"),
    lastEvent: integer(row, "last_event"),
  };
}

export function toTaskLease(row: Row): TaskLease {
  return {
    key: integer(row, "key"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    token: integer(row, "lease_token"),
    name: text(row, "name"),
    availableAt: integer(row, "available_at"),
  };
}

/** What a dead runtime held, counted (blame.ts). */
export function toDeadWorkerLoad(row: Row): DeadWorkerLoad {
  return integers(row, "suspects", "unproven", "stepping", "restepping", "marked", "trials");
}

export function toLoad(row: Row): LoadRecord {
  return { owner: text(row, "owner"), ...integers(row, "instances", "tasks") };
}

export function toSession(row: Row): SessionRecord {
  return {
    id: text(row, "id"),
    owner: text(row, "owner"),
    until: integer(row, "until"),
    lastActivityAt: integer(row, "last_activity_at"),
  };
}
