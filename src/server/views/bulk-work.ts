// Bulk operations: apply one operation to all instances that match a filter (client/bulk).
//   - With `dryRun` the server counts, makes the checks of each instance, and changes nothing.
//   - The operation changes at most `limit` instances, the oldest first. If there are more, the answer has a cursor.
//   - The audit entry contains the filter, the ids and their number. The ids of a page are noted before it is
//        changed, so that the audit also covers an operation that is interrupted.

import type * as v from "valibot";
import {
  applyToMany,
  toEach as eachOf,
  type ApplyToPage,
  type BulkOperation,
} from "../../client/bulk/apply.ts";
import { BULK_DEFAULT, bulkFilter, type Applicable } from "../../client/bulk/selection.ts";
import type { Handle } from "../../client/handle.ts";
import type { ListFilter } from "../../client/list-filter.ts";
import { Store } from "../../client/store.ts";
import { defined } from "../../core/values/defined.ts";
import type { CallBase } from "../http/route.ts";
import type { bulkAnswer, which } from "../schemas/bulk.ts";
import type { removed } from "../schemas/store.ts";

const REFUSED_LISTED_MAX = 100;

type Which = v.InferOutput<typeof which>;

type BulkAnswer = v.InferInput<typeof bulkAnswer>;

type States = Applicable | ((filter: ListFilter) => Applicable);

/** Calls `act` for every matching instance. */
export function toEach(
  call: CallBase,
  asked: Which,
  applicable: States,
  act: (handle: Handle) => Promise<unknown>,
): Promise<BulkAnswer> {
  const { client } = call.services;
  return toPages(call, asked, applicable, { apply: eachOf((id) => act(client.get(id))) });
}

/** Calls `apply` for every page of matching instances. */
export async function toPages(
  call: CallBase,
  asked: Which,
  applicable: States,
  { apply, check }: BulkOperation,
): Promise<BulkAnswer> {
  const { note } = call;
  const filter = bulkFilter(asked.filter, applicable, "a bulk operation");
  const { dryRun = false, cursor } = asked;
  note({ filter: asked.filter, count: 0, ...(dryRun ? { dryRun } : {}) });
  const changed: string[] = [];
  const limit = Math.min(asked.limit ?? BULK_DEFAULT, call.services.settings.limits.bulkMax);
  const options = { limit, dryRun, ...defined({ cursor }) };
  const noted: ApplyToPage = async (ids) => {
    note({ instances: [...changed, ...ids], count: changed.length + ids.length });
    const refused = await apply(ids);
    const refusedIds = new Set(refused.map(({ id }) => id));
    changed.push(...ids.filter((id) => !refusedIds.has(id)));
    note({ instances: [...changed], count: changed.length });
    return refused;
  };
  const operation = { apply: noted, ...defined({ check }) };
  const report = await applyToMany(storeOf(call), filter, options, operation);
  if (!dryRun) note({ instances: changed, count: changed.length });
  return {
    dryRun,
    matched: report.matched,
    applied: report.done,
    refusedCount: report.refused.length,
    refused: report.refused.slice(0, REFUSED_LISTED_MAX).map((refused) => ({ ...refused })),
    ...defined({ cursor: report.cursor }),
  };
}

/** Calls `removal` for every page of matching instances, and adds what it removed. */
export async function toAll(
  call: CallBase,
  asked: Which,
  applicable: States,
  removal: BulkOperation & { readonly total: v.InferInput<typeof removed> },
): Promise<BulkAnswer> {
  const answer = await toPages(call, asked, applicable, removal);
  return answer.dryRun ? answer : { ...answer, removed: removal.total };
}

export function storeOf({ services: { provider, codec } }: CallBase): Store {
  return new Store(provider, codec);
}
