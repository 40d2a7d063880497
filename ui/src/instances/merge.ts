// Merges pages into a list: older pages are appended, and a new first page updates the head.
//   - A new first page replaces the rows that it covers. Older rows stay, and no row occurs twice.
//   - If the new page does not reach the existing rows, they are dropped, because there would be a gap.

import type { InstancePage, InstanceSummary } from "../api/types.ts";

export interface Rows {
  readonly items: readonly InstanceSummary[];
  readonly cursor: string | undefined;
}

export function withNextPage(rows: Rows, page: InstancePage): Rows {
  const known = new Set(rows.items.map(({ id }) => id));
  const fresh = page.items.filter(({ id }) => !known.has(id));
  return { items: [...rows.items, ...fresh], cursor: page.cursor };
}

export function withFirstPage(rows: Rows, page: InstancePage): Rows {
  const last = page.items.at(-1);
  const covered = rows.items.findIndex(({ id }) => id === last?.id);
  if (covered < 0 || page.cursor === undefined) return { items: page.items, cursor: page.cursor };
  const head = new Set(page.items.map(({ id }) => id));
  const rest = rows.items.slice(covered + 1).filter(({ id }) => !head.has(id));
  return {
    items: [...page.items, ...rest],
    cursor: rest.length === 0 ? page.cursor : rows.cursor,
  };
}

/** Updates rows that were loaded again by id. Rows that were not found have been deleted. */
export function withLookedAt(
  rows: Rows,
  asked: readonly string[],
  found: readonly InstanceSummary[],
): Rows {
  const now = new Map(found.map((item) => [item.id, item]));
  const gone = new Set(asked.filter((id) => !now.has(id)));
  return {
    items: rows.items.filter(({ id }) => !gone.has(id)).map((item) => now.get(item.id) ?? item),
    cursor: rows.cursor,
  };
}
