// Rewinds the instances of a filter. Without a status in the filter: the failed ones, or the blocked ones of `blocked: true`.

import { checkMembers, type Members } from "../../core/checks.ts";
import type { RewindPoint } from "../../core/repair/cut.ts";
import { defined } from "../../core/values/defined.ts";
import type { ListFilter } from "../list-filter.ts";
import { rewindPageAnywhere } from "../repair/rewind-page.ts";
import { checkRewind, type RewindOptions } from "../repair/rewind.ts";
import type { Store } from "../store.ts";
import {
  applyToMany,
  type ApplyToPage,
  type BulkOperation,
  type BulkReport,
  type RefusedInstance,
} from "./apply.ts";
import {
  BULK_OPTIONS,
  bulkFilter,
  checkBulk,
  ENDED,
  LIVE,
  type Applicable,
  type BulkFilter,
  type BulkOptions,
} from "./selection.ts";

/** Options of `client.rewindMany`. */
export type RewindManyOptions = BulkOptions & RewindPoint & RewindEachOptions;
type RewindEachOptions = Pick<RewindOptions, "reason" | "by" | "tree" | "requestId">;

const OPTIONS: Members<Record<keyof RewindManyOptions | "to" | "before", true>> = {
  ...BULK_OPTIONS,
  to: true,
  before: true,
  reason: true,
  by: true,
  tree: true,
  requestId: true,
};

export async function rewindMany(
  store: Store,
  given: BulkFilter,
  options: RewindManyOptions,
): Promise<BulkReport> {
  checkMembers(options, OPTIONS, "client.rewindMany");
  const { limit, dryRun, cursor, ...rewind } = options;
  const bulk = defined({ limit, dryRun, cursor });
  checkBulk(bulk);
  checkRewind(rewind, "client.rewindMany");
  const filter = bulkFilter(given, rewindable, "client.rewindMany");
  return applyToMany(store, filter, bulk, rewinder(store, rewind));
}

/** The states in which an instance can be rewound. */
export function rewindable({ status, blocked }: ListFilter): Applicable {
  if (blocked === true) return { ...LIVE, blocked };
  return status === undefined ? { status: ["failed"] } : ENDED;
}

export function rewinder(store: Store, options: RewindOptions): Required<BulkOperation> {
  return {
    apply: rewindPages(store, options),
    check: rewindPages(store, { ...options, dryRun: true }),
  };
}

/** With `tree`, an instance that another one of the same call has rewound is not refused. */
function rewindPages(store: Store, options: RewindOptions): ApplyToPage {
  const together = new Set<string>();
  return async (ids) => {
    const outcomes = await rewindPageAnywhere(store, ids, options);
    for (const outcome of outcomes) {
      if (outcome.code === undefined) for (const id of outcome.others) together.add(id);
    }
    return outcomes.filter(
      (outcome): outcome is RefusedInstance =>
        outcome.code !== undefined &&
        !(outcome.code === "INSTANCE_RUNNING" && together.has(outcome.id)),
    );
  };
}
