// Whether an instance is of the definition that a caller holds (semantics 27).
//   DC1. Only flows are compared: their version stands for their structure, and their types for its results. An
//        orchestration's caller may well hold a newer version than the instance runs.

import type { Orchestration } from "../core/definitions.ts";
import { PerdureError } from "../core/errors.ts";
import type { InstanceRecord } from "../core/provider/index.ts";

export type Expected = Orchestration<never, unknown> | null;

export function checkDefinition(record: InstanceRecord, expected: Expected): void {
  if (expected?.hash === undefined || isOf(record, expected)) return;
  const of = record.version === null ? record.name : `${record.name} ${record.version}`;
  throw new PerdureError(
    "DEFINITION_MISMATCH",
    `Instance "${record.id}" is of ${of}, not of ${expected.name} ${expected.version}.`,
  );
}

function isOf(record: InstanceRecord, { name, version }: Orchestration<never, unknown>): boolean {
  // A start by name has no version until its first turn.
  return record.name === name && (record.version === null || record.version === version);
}
