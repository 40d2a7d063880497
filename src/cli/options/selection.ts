// Selects the instances that a command changes: by ids, or by a filter.
//   - The selection is counted and shown before the command changes anything, and then read page by page.
//   - A filter is combined with the filters of the instances that the action applies to, so that the count
//        is right.

import type { ListFilter } from "../../client/list-filter.ts";
import type { Client } from "../../client/client.ts";
import { defined } from "../../core/values/defined.ts";
import { CliError } from "../exit-codes.ts";
import { filterOf, type FilterOptions } from "./filter-options.ts";

export interface SelectionOptions extends FilterOptions {
  readonly all?: true;
  readonly limit?: number;
}

export interface Selection {
  /** Whether the user named the instances by id. */
  readonly isNamed: boolean;
  readonly count: number;
  /** The first ids, for the question. */
  readonly first: readonly string[];
  ids(): AsyncIterable<string>;
}

/**
 * `narrow`: filters that together match the instances the action applies to. Each is ANDed with the user's
 * filter.
 */
export async function select(
  client: Client,
  ids: readonly string[],
  options: SelectionOptions,
  narrow: readonly ListFilter[],
): Promise<Selection> {
  const filter = filterOf(options);
  const isFiltered = Object.keys(filter).length > 0 || options.all === true;
  if (ids.length > 0) {
    if (isFiltered) throw new CliError("USAGE", "Pass ids or filters, not both.");
    const unique = [...new Set(ids)];
    return { isNamed: true, count: unique.length, first: unique, ids: () => each(unique) };
  }
  if (!isFiltered) {
    const message =
      "No instances selected. Pass ids, filters such as --name and --status, or --all.";
    throw new CliError("USAGE", message);
  }
  const { limit = Infinity } = options;
  const filters = narrow.flatMap((one) => both(filter, one) ?? []);
  const counts = await Promise.all(filters.map((one) => client.count(one)));
  const count = counts.reduce((sum, one) => sum + one, 0);
  const first: string[] = [];
  for await (const id of matching(client, filters, Math.min(limit, FIRST_MAX))) first.push(id);
  return {
    isNamed: false,
    count: Math.min(count, limit),
    first,
    ids: () => matching(client, filters, limit),
  };
}

const FIRST_MAX = 10;

async function* each(ids: readonly string[]): AsyncGenerator<string, void, undefined> {
  for (const id of ids) yield Promise.resolve(id);
}

async function* matching(
  client: Client,
  filters: readonly ListFilter[],
  limit: number,
): AsyncGenerator<string, void, undefined> {
  let left = limit;
  for (const filter of filters) {
    for await (const id of client.ids(filter)) {
      if (left-- <= 0) return;
      yield id;
    }
  }
}

/** The filter for instances that match both filters. Undefined: no instance can match both. */
function both(filter: ListFilter, narrow: ListFilter): ListFilter | undefined {
  const status = common(asList(filter.status), asList(narrow.status));
  if (status?.length === 0) return undefined;
  const { blocked } = narrow;
  if (blocked !== undefined && filter.blocked !== undefined && blocked !== filter.blocked) {
    return undefined;
  }
  return { ...filter, ...narrow, ...defined({ status }) };
}

function asList<T extends string>(value: T | readonly T[] | undefined): readonly T[] | undefined {
  return typeof value === "string" ? [value] : value;
}

function common<T>(
  a: readonly T[] | undefined,
  b: readonly T[] | undefined,
): readonly T[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.filter((one) => b.includes(one));
}
