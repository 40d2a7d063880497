// Bulk operations: apply one operation to all instances that match a filter.
//   - The filter is combined with the statuses that the operation applies to, so that `matched` counts
//        only instances that the operation can change.
//   - With `dryRun` the server only counts.
//   - The operation changes at most `limit` instances, the oldest first, in groups that share commits. If
//        an instance refuses the operation because its state has changed, the answer lists it and the others
//        continue.
//   - The audit entry contains the filter, the ids and their number. For a removal these are the ids that
//        matched immediately before it.

import type * as v from "valibot";
import type { Handle } from "../../client/handle.ts";
import { GROUP_MAX } from "../../core/commit/queue.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { defined } from "../../core/values/defined.ts";
import type { CallBase } from "../http/route.ts";
import type { bulkAnswer, which } from "../schemas/bulk.ts";
import type { BodyFilter } from "../schemas/filter.ts";
import type { removed } from "../schemas/store.ts";

const LIMIT_DEFAULT = 1_000;
const REFUSED_LISTED_MAX = 100;

type Which = v.InferOutput<typeof which>;

type BulkAnswer = v.InferInput<typeof bulkAnswer>;

/** The instances that an operation applies to. */
export interface Applicable {
  readonly status?: NonNullable<BodyFilter["status"]>;
  readonly blocked?: true;
}

/** Calls `act` for every matching instance. */
export async function toEach(
  call: CallBase,
  asked: Which,
  applicable: Applicable,
  act: (handle: Handle) => Promise<void>,
): Promise<BulkAnswer> {
  const { matched, ids } = await select(call, asked, applicable);
  if (ids === null) return outcome(true, matched, 0, []);
  const { client } = call.services;
  const refused: BulkAnswer["refused"] = [];
  for (let at = 0; at < ids.length; at += GROUP_MAX) {
    const group = ids.slice(at, at + GROUP_MAX).map(async (id) => {
      try {
        await act(client.get(id));
      } catch (error) {
        if (!isPerdureError(error) || error.code === "STORE_UNAVAILABLE") throw error;
        refused.push({ id, code: error.code, message: error.message });
      }
    });
    await Promise.all(group);
  }
  const refusedIds = new Set(refused.map(({ id }) => id));
  const instances = ids.filter((id) => !refusedIds.has(id));
  call.note({ instances, count: instances.length });
  return outcome(false, matched, ids.length - refused.length, refused);
}

/** Calls `remove` once for all matching instances. */
export async function toAll(
  call: CallBase,
  asked: Which,
  applicable: Applicable,
  remove: (filter: BodyFilter, limit: number) => Promise<v.InferInput<typeof removed>>,
): Promise<BulkAnswer> {
  const { filter, limit, matched, ids } = await select(call, asked, applicable);
  if (ids === null) return outcome(true, matched, 0, []);
  const gone = await remove(filter, limit);
  return { ...outcome(false, matched, Math.min(matched, limit), []), removed: gone };
}

/**
 * The instances of an operation. They are noted before the first change, so that the audit also covers an
 * operation that is interrupted. `ids` is null for a dry run.
 */
async function select(
  { services: { client, settings }, note }: CallBase,
  asked: Which,
  applicable: Applicable,
) {
  const filter = narrowed(asked.filter, applicable);
  note({ filter: asked.filter, count: 0, ...(asked.dryRun === true ? { dryRun: true } : {}) });
  const matched = await client.count(filter);
  const limit = Math.min(asked.limit ?? LIMIT_DEFAULT, settings.limits.bulkMax);
  if (asked.dryRun === true) return { filter, limit, matched, ids: null };
  const ids = await Array.fromAsync(client.ids(filter, { limit }));
  note({ instances: ids, count: ids.length });
  return { filter, limit, matched, ids };
}

/** Combines the requested filter with the instances that the operation applies to. */
function narrowed(filter: BodyFilter, applicable: Applicable): BodyFilter {
  const { status: allowed, blocked } = applicable;
  const asked = filter.status ?? allowed;
  // The operation applies only to blocked instances, and the filter excludes them: no instance matches.
  if (blocked === true && filter.blocked === false) return { ...filter, status: [] };
  return {
    ...filter,
    ...(asked === undefined
      ? {}
      : { status: asked.filter((one) => allowed?.includes(one) ?? true) }),
    ...defined({ blocked }),
  };
}

function outcome(
  dryRun: boolean,
  matched: number,
  applied: number,
  refused: BulkAnswer["refused"],
): BulkAnswer {
  const listed = refused.slice(0, REFUSED_LISTED_MAX);
  return { dryRun, matched, applied, refusedCount: refused.length, refused: listed };
}
