// Selects the instances that a command changes: by ids, or by a filter.
//   - The selection is counted and shown before the command changes anything, and then read page by page.
//   - selection.1: The cursor of a page leads to the pages after it. With it, an interrupted command goes on.
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
  readonly cursor?: string;
}

/** Instances that a command changes together. */
export interface SelectedPage {
  readonly ids: readonly string[];
  /** For --cursor (selection.1). Undefined: the last page, or the user named the instances. */
  readonly cursor: string | undefined;
}

export interface Selection {
  /** Whether the user named the instances by id. */
  readonly isNamed: boolean;
  readonly count: number;
  /** The first ids, for the question. */
  readonly first: readonly string[];
  pages(): AsyncIterable<SelectedPage>;
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
  const { limit = Infinity, cursor } = options;
  if (ids.length > 0) {
    if (isFiltered) throw new CliError("USAGE", "Pass ids or filters, not both.");
    if (cursor !== undefined) throw new CliError("USAGE", "--cursor needs the same filters.");
    const unique = [...new Set(ids)];
    return { isNamed: true, count: unique.length, first: unique, pages: () => named(unique) };
  }
  if (!isFiltered) {
    const message =
      "No instances selected. Pass ids, filters such as --name and --status, or --all.";
    throw new CliError("USAGE", message);
  }
  const filters = narrow.flatMap((one) => both(filter, one) ?? []);
  const counts = await Promise.all(filters.map((one) => client.count(one)));
  const count = counts.reduce((sum, one) => sum + one, 0);
  const pages = (most: number) => matching(client, filters, { limit: most, cursor });
  const [first] = await Array.fromAsync(pages(Math.min(limit, FIRST_MAX)));
  return {
    isNamed: false,
    count: Math.min(count, limit),
    first: first?.ids ?? [],
    pages: () => pages(limit),
  };
}

const FIRST_MAX = 10;
const PAGE = 100;

/** The ids of the instances, at most `limit`. */
export async function* idsOf(
  selection: Selection,
  limit = Infinity,
): AsyncGenerator<string, void, undefined> {
  let left = limit;
  for await (const { ids } of selection.pages()) {
    yield* ids.slice(0, left);
    left -= ids.length;
    if (left <= 0) return;
  }
}

async function* named(ids: readonly string[]): AsyncGenerator<SelectedPage, void, undefined> {
  for (let at = 0; at < ids.length; at += PAGE) {
    yield Promise.resolve({ ids: ids.slice(at, at + PAGE), cursor: undefined });
  }
}

async function* matching(
  client: Client,
  filters: readonly ListFilter[],
  { limit, cursor: given }: { readonly limit: number; readonly cursor: string | undefined },
): AsyncGenerator<SelectedPage, void, undefined> {
  const from = placeOf(given, filters.length);
  let left = limit;
  for (const [index, filter] of filters.entries()) {
    if (index < from.index) continue;
    let cursor = index === from.index ? from.cursor : undefined;
    do {
      const page = { limit: Math.min(left, PAGE), order: "asc", ...defined({ cursor }) } as const;
      const { items, cursor: next } = await client.list(filter, page);
      cursor = next;
      left -= items.length;
      const after = next ?? (index + 1 < filters.length ? "" : undefined);
      const place = next === undefined ? index + 1 : index;
      const ids = items.map(({ id }) => id);
      if (ids.length > 0)
        yield { ids, cursor: after === undefined ? undefined : `${place}.${after}` };
    } while (cursor !== undefined && left > 0);
    if (left <= 0) return;
  }
}

/** The filter and the place in its list at which a command goes on (selection.1). */
function placeOf(given: string | undefined, filters: number) {
  if (given === undefined) return { index: 0, cursor: undefined };
  const [, index, cursor] = /^(\d+)\.(.*)$/.exec(given) ?? [];
  if (index === undefined || Number(index) >= filters) {
    const message = `--cursor must be the cursor of an interrupted command; got ${JSON.stringify(given)}.`;
    throw new CliError("USAGE", message);
  }
  return { index: Number(index), cursor: cursor === "" ? undefined : cursor };
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
