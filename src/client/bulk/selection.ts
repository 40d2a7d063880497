// The instances of a bulk call: a filter that must say what it means, and the page from which the call goes on.
//   - bulk.1: An empty filter is refused: it would mean every instance of the store. `{ all: true }` says so.
//   - bulk.2: A call concerns only instances in a state that it can change. `matched` counts these.
//   - bulk.3: Instances come in the order of their creation, which no call changes. So a call that goes on from a cursor
//        finds each remaining instance once, although the earlier ones may no longer match.

import { checkFlag, checkInteger, invalidArgument } from "../../core/checks.ts";
import { showValue } from "../../core/ids/ids.ts";
import type { FoundInstance, FoundPage } from "../../core/provider/index.ts";
import { TERMINAL_STATUSES } from "../../core/provider/instances.ts";
import { defined } from "../../core/values/defined.ts";
import { storeFilter, type ListFilter } from "../list-filter.ts";
import type { Store } from "../store.ts";

/** The instances of a bulk call. An empty filter is an error; `{ all: true }` selects every instance. */
export type BulkFilter = ListFilter & { readonly all?: true };

/** Options of every bulk call. */
export interface BulkOptions {
  /** The most instances of this call, the oldest first. Default 1,000. */
  readonly limit?: number;
  /** Changes nothing: counts the instances, and returns those that would be refused. */
  readonly dryRun?: boolean;
  /** Goes on where an earlier call with the same filter stopped: its `cursor`. */
  readonly cursor?: string;
}
export const BULK_OPTIONS = { limit: true, dryRun: true, cursor: true } as const;

/** The most instances of a bulk call that does not say otherwise. */
export const BULK_DEFAULT = 1_000;
const PAGE = 100;

/** The states in which an operation can change an instance. */
export interface Applicable {
  readonly status?: readonly NonNullable<Exclude<ListFilter["status"], string>>[number][];
  readonly blocked?: true;
}
export const LIVE: Applicable = { status: ["pending", "running", "paused"] };
export const ENDED: Applicable = { status: [...TERMINAL_STATUSES] };

export function checkBulk({ limit, dryRun, cursor }: BulkOptions): void {
  checkInteger(limit, 1, "limit");
  checkFlag(dryRun, "dryRun");
  if (cursor === undefined || typeof cursor === "string") return;
  throw invalidArgument(`cursor must be the cursor of a bulk call; got ${showValue(cursor)}.`);
}

/** bulk.1, bulk.2 */
export function bulkFilter(
  given: BulkFilter,
  applicable: Applicable | ((filter: ListFilter) => Applicable),
  what: string,
): ListFilter {
  const filter = withoutAll(given, what);
  return narrowed(filter, typeof applicable === "function" ? applicable(filter) : applicable);
}

function withoutAll(given: BulkFilter, what: string): ListFilter {
  if (typeof given !== "object" || given === null) {
    throw invalidArgument(`The filter of ${what} must be an object; got ${showValue(given)}.`);
  }
  const { all, ...rest } = given;
  storeFilter(rest); // checks it
  if (all !== undefined && (all as unknown) !== true) {
    throw invalidArgument(`all must be true; got ${showValue(all)}.`);
  }
  const named = Object.keys(defined(rest));
  if (named.length === 0 && all === undefined) {
    const rule = `The filter of ${what} must not be empty`;
    throw invalidArgument(`${rule}; { all: true } selects every instance.`);
  }
  if (named.length > 0 && all === true) {
    throw invalidArgument(`The filter of ${what} must have all or ${named.join(", ")}, not both.`);
  }
  return rest;
}

/** The filter, restricted to the states in which the operation can change an instance (bulk.2). */
function narrowed(filter: ListFilter, { status: allowed, blocked }: Applicable): ListFilter {
  const asked = typeof filter.status === "string" ? [filter.status] : (filter.status ?? allowed);
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

/** The instances of a bulk call, in pages of 100, and the cursor after each page (bulk.3). */
export async function* pagesOf(
  store: Store,
  filter: ListFilter,
  { limit = BULK_DEFAULT, cursor: from }: Pick<BulkOptions, "limit" | "cursor">,
): AsyncGenerator<{
  readonly items: readonly FoundInstance[];
  readonly cursor: string | undefined;
}> {
  const wanted = { filter: storeFilter(filter), order: "oldest" } as const;
  let left = limit;
  let cursor: string | null = from ?? null;
  do {
    const request = { ...wanted, limit: Math.min(left, PAGE), cursor };
    const page: FoundPage = await store.read((provider) => provider.findInstances(request));
    cursor = page.cursor;
    left -= page.items.length;
    yield { items: page.items, cursor: cursor ?? undefined };
  } while (cursor !== null && left > 0);
}
