// Doing one thing to all instances that a filter finds.
//   BU1. The filter is narrowed to those that the operation can be done to, so that `matched` is what it would do.
//   BU2. With `dryRun` nothing is done but counting.
//   BU3. At most `limit` instances, the oldest first, a group at a time so that they share commits. What an
//        instance refuses, because it has changed meanwhile, is told and stops nobody.
//   BU4. The audit has the filter, the ids and their number. For removals these are the ids that matched right before.

import type * as v from "valibot";
import type { Handle } from "../client/handle.ts";
import { GROUP_MAX } from "../core/commit-queue.ts";
import { isPerdureError } from "../core/errors.ts";
import type { CallBase } from "./route.ts";
import type { bulkAnswer, which } from "./schemas/bulk.ts";
import type { BodyFilter } from "./schemas/filter.ts";
import type { removed } from "./schemas/store.ts";

const LIMIT_DEFAULT = 1_000;
const REFUSED_TOLD_MAX = 100;

type Which = v.InferOutput<typeof which>;

type BulkAnswer = v.InferInput<typeof bulkAnswer>;

/** What an operation can be done to. */
export interface Open {
  readonly status?: NonNullable<BodyFilter["status"]>;
  readonly blocked?: true;
}

export async function toEach(
  { services: { client, settings }, note }: CallBase,
  asked: Which,
  open: Open,
  act: (handle: Handle) => Promise<void>,
): Promise<BulkAnswer> {
  const filter = narrowed(asked.filter, open);
  note({ filter: asked.filter, count: 0, ...(asked.dryRun === true ? { dryRun: true } : {}) });
  const matched = await client.count(filter);
  if (asked.dryRun === true) return outcome(true, matched, 0, []);
  const limit = Math.min(asked.limit ?? LIMIT_DEFAULT, settings.limits.bulkMax);
  const ids = await Array.fromAsync(client.ids(filter, { limit }));
  // Before anything is done: what is cut off half way is in the audit too.
  note({ instances: ids, count: ids.length });
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
  const none = new Set(refused.map(({ id }) => id));
  const instances = ids.filter((id) => !none.has(id));
  note({ instances, count: instances.length });
  return outcome(false, matched, ids.length - refused.length, refused);
}

export async function toAll(
  { services: { client, settings }, note }: CallBase,
  asked: Which,
  open: Open,
  remove: (filter: BodyFilter, limit: number) => Promise<v.InferInput<typeof removed>>,
): Promise<BulkAnswer> {
  const filter = narrowed(asked.filter, open);
  note({ filter: asked.filter, count: 0, ...(asked.dryRun === true ? { dryRun: true } : {}) });
  const matched = await client.count(filter);
  if (asked.dryRun === true) return outcome(true, matched, 0, []);
  const limit = Math.min(asked.limit ?? LIMIT_DEFAULT, settings.limits.bulkMax);
  const instances = await Array.fromAsync(client.ids(filter, { limit }));
  note({ instances, count: instances.length });
  const gone = await remove(filter, limit);
  return { ...outcome(false, matched, Math.min(matched, limit), []), removed: gone };
}

/** Both what was asked for and what the operation can be done to. */
function narrowed(filter: BodyFilter, open: Open): BodyFilter {
  const { status: can, blocked } = open;
  const asked = filter.status ?? can;
  // Asked for those that are not blocked, where only blocked ones will do: nothing is both.
  if (blocked === true && filter.blocked === false) return { ...filter, status: [] };
  return {
    ...filter,
    ...(asked === undefined ? {} : { status: asked.filter((one) => can?.includes(one) ?? true) }),
    ...(blocked === undefined ? {} : { blocked }),
  };
}

function outcome(
  dryRun: boolean,
  matched: number,
  applied: number,
  refused: BulkAnswer["refused"],
): BulkAnswer {
  const told = refused.slice(0, REFUSED_TOLD_MAX);
  return { dryRun, matched, applied, refusedCount: refused.length, refused: told };
}
