// Applies one operation to the instances of a bulk call, page by page. Calls of one page run at the same time, so they
// share commits.
//   - bulk.4: An instance that refuses the operation is part of the report, and the others go on. Only an error that is not
//        about one instance, such as STORE_UNAVAILABLE, ends the call.
//   - bulk.5: A dry run makes the checks of each instance, in pages like the call itself, and changes nothing.

import { isPerdureError, type ErrorCode } from "../../core/errors/errors.ts";
import { countInstances } from "../admin.ts";
import type { ListFilter } from "../list-filter.ts";
import type { Store } from "../store.ts";
import { pagesOf, type BulkOptions } from "./selection.ts";

/** An instance that a bulk call could not change. */
export interface RefusedInstance {
  readonly id: string;
  readonly code: ErrorCode;
  readonly message: string;
}
/** What a bulk call did. */
export interface BulkReport {
  /** The instances that match when the call begins, also before `cursor` and beyond `limit`. */
  readonly matched: number;
  /** The instances that were changed. 0 in a dry run. */
  readonly done: number;
  /** The instances that could not be changed. In a dry run: that could not be changed now. */
  readonly refused: readonly RefusedInstance[];
  /** Pass it to the next call. Undefined: the call reached the last instance. */
  readonly cursor: string | undefined;
}

/** Changes or checks the instances of a page and returns those that refused. */
export type ApplyToPage = (ids: readonly string[]) => Promise<readonly RefusedInstance[]>;

/** An operation of a bulk call. */
export interface BulkOperation {
  readonly apply: ApplyToPage;
  /** Makes the checks of the operation and changes nothing. Absent: the filter makes them all (bulk.2). */
  readonly check?: ApplyToPage;
}

/** `filter` and `options` must be checked. */
export async function applyToMany(
  store: Store,
  filter: ListFilter,
  options: BulkOptions,
  { apply, check }: BulkOperation,
): Promise<BulkReport> {
  const matched = await countInstances(store, filter);
  const refused: RefusedInstance[] = [];
  let tried = 0;
  let after: string | undefined;
  const isDryRun = options.dryRun === true;
  const act = isDryRun ? check : apply; // bulk.5
  for await (const { items, cursor } of act === undefined ? [] : pagesOf(store, filter, options)) {
    refused.push(...((await act?.(items.map(({ id }) => id))) ?? []));
    tried += items.length;
    after = cursor;
  }
  return { matched, done: isDryRun ? 0 : tried - refused.length, refused, cursor: after };
}

/** An operation on one instance as an operation on a page (bulk.4). */
export function toEach(act: (id: string) => Promise<unknown>): ApplyToPage {
  return async (ids) => {
    const outcomes = await Promise.all(ids.map((id) => act(id).then(() => null, refusalOf(id))));
    return outcomes.flatMap((refusal) => refusal ?? []);
  };
}

/** Throws an error that is not about one instance. */
export function refusalOf(id: string): (error: unknown) => RefusedInstance {
  return (error) => {
    if (!isPerdureError(error) || error.code === "STORE_UNAVAILABLE") throw error;
    return { id, code: error.code, message: error.message };
  };
}
