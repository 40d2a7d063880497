// The options of `handle.history`, and the error of a history with missing rows.

import { PerdureError } from "../../core/errors/errors.ts";
import { checkMembers, checkInteger, type Members } from "../../core/checks.ts";

export interface HistoryOptions {
  /** Default: the newest execution. */
  readonly execution?: number;
  /** Only events after this sequence number. Default 0: from the first. */
  readonly after?: number;
  /** The maximum number of events. Default: all. */
  readonly limit?: number;
}

const HISTORY_OPTIONS: Members<HistoryOptions> = { execution: true, after: true, limit: true };

export function checkHistoryOptions(options: HistoryOptions): void {
  checkMembers(options, HISTORY_OPTIONS, "handle.history");
  checkInteger(options.execution, 1, "execution");
  checkInteger(options.after, 0, "after");
  if (options.limit !== Infinity) checkInteger(options.limit, 0, "limit");
}

export function incompleteHistory(id: string, execution: number): PerdureError {
  const message = `The history of instance "${id}", execution ${execution}, is corrupt: rows are missing or out of order.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
