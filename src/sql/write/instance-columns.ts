// Instance columns: the values with which an instance begins, at its insert and at the start of another run.

import type { NewInstance } from "../../core/provider/commit.ts";
import { checksumOf } from "../../core/values/checksum.ts";

export interface Lease {
  readonly owner: string;
  readonly token: number;
  readonly until: number | null;
}

/**
 * In this order: id, run_id, name, version, parent_id, parent_run_id, parent_execution, parent_sequence,
 * on_parent_close, priority, attributes, the time, lease_owner, lease_token, lease_until, suspicion,
 * attributes_checksum.
 */
export function instanceColumns(
  instance: NewInstance,
  lease: Lease | null,
  now: number,
  // An instance that begins with a lease has a cold lease: its first turn may crash (provider.instances.4).
  suspicion = lease === null ? 0 : 1,
) {
  const { parent } = instance;
  const attributes = JSON.stringify(instance.attributes);
  return [
    instance.id,
    instance.runId,
    instance.name,
    instance.version,
    parent?.id ?? null,
    parent?.runId ?? null,
    parent?.execution ?? null,
    parent?.sequence ?? null,
    instance.onParentClose,
    instance.priority,
    attributes,
    now,
    lease?.owner ?? null,
    lease?.token ?? null,
    lease?.until ?? null,
    suspicion,
    checksumOf(attributes),
  ];
}
