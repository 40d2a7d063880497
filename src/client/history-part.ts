// A part of a history: rows outside of it are not decoded, so that a page of a long one costs a page.

import { PerdureError } from "../core/errors.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { checkMembers, checkWhole, type Members } from "../core/known-members.ts";
import { decodeRow, type HistoryRow } from "../core/history-row.ts";

export interface HistoryOptions {
  /** The newest one unless another is named. */
  readonly execution?: number;
  /** Only events behind this one. Default 0: from the first. */
  readonly after?: number;
  /** At most so many. Default: all. */
  readonly limit?: number;
}

const HISTORY_OPTIONS: Members<HistoryOptions> = { execution: true, after: true, limit: true };

export function checkHistoryOptions(options: HistoryOptions): void {
  checkMembers(options, HISTORY_OPTIONS, "handle.history");
  checkWhole(options.execution, 1, "execution");
  checkWhole(options.after, 0, "after");
  if (options.limit !== Infinity) checkWhole(options.limit, 0, "limit");
}

/** Throws HISTORY_CORRUPT if a row that is decoded belongs to another place (history-seal.ts). */
export function historyPart(
  rows: readonly HistoryRow[],
  { after = 0, limit = Infinity }: HistoryOptions,
  verify: (within: readonly HistoryRow[]) => void,
): readonly HistoryEvent[] {
  const touched = rows.filter((row) => row.last > after && row.first <= after + limit);
  verify(touched);
  return touched
    .flatMap(decodeRow)
    .filter(({ sequence }) => sequence > after && sequence <= after + limit);
}

/**
 * Whether rows follow each other from the first event on and come as far as that one. Those outside of a part, too: a
 * row whose numbers are not what they were would be taken for one of them.
 */
export function reaches(rows: readonly HistoryRow[], lastEvent: number): boolean {
  let next = 1;
  for (const { first, last } of rows) {
    if (first !== next || last < first) return false;
    next = last + 1;
  }
  return next > lastEvent;
}

export function incompleteHistory(id: string, execution: number): PerdureError {
  const message = `Rows of the history of "${id}", execution ${execution}, are missing or in disorder.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
