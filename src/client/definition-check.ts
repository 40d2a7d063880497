// Definition check: whether an instance runs the flow that the caller's handle was made from (semantics 27).
//   - Only flows are compared. A flow's version contains a hash of its structure, and the types of its
//        results follow from that structure. The caller of a plain orchestration may have a newer version
//        than the instance runs.

import type { Orchestration } from "../core/define/definitions.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { InstanceRecord } from "../core/provider/index.ts";
import type { Store } from "./store.ts";

export type Expected = Orchestration<never, unknown> | null;

export function checkDefinition(record: InstanceRecord, expected: Expected): void {
  if (expected?.hash === undefined || isOf(record, expected)) return;
  const running = record.version === null ? record.name : `${record.name} ${record.version}`;
  const message = `Instance "${record.id}" runs ${running}, not ${expected.name} ${expected.version}.`;
  throw new PerdureError("DEFINITION_MISMATCH", message);
}

/** Throws if the existing instance is of a different flow, whatever the conflict policy (semantics 27). */
export async function checkExisting(store: Store, id: string, expected: Expected): Promise<void> {
  if (expected?.hash === undefined) return;
  const record = await store.read((provider) => provider.readInstance(id));
  if (record !== null) checkDefinition(record, expected);
}

function isOf(record: InstanceRecord, { name, version }: Orchestration<never, unknown>): boolean {
  // An instance started by name has no version until its first turn.
  return record.name === name && (record.version === null || record.version === version);
}
