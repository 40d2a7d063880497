// A recorded history: everything that a replay needs of one execution, read from a store or from a text.
//   - Rows are kept as they were written, so that a replay of the text equals a replay from the store
//     (I15).
//   - Parsing is strict: a text that is not a recorded history is INVALID_ARGUMENT, with the reason.

import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeRow, type HistoryRow } from "../../core/history/rows.ts";
import type { InstanceRecord } from "../../core/provider/instances.ts";
import type { Provider } from "../../core/provider/provider.ts";

/** Everything that a replay needs of one execution. */
export interface RecordedHistory {
  readonly id: string;
  readonly name: string;
  /** Null before the first turn, if the start named no version. */
  readonly version: string | null;
  readonly execution: number;
  readonly priority: number;
  /**
   * The last event that a fork copied; copied events are compared loosely. 0: the execution is not a
   * fork.
   */
  readonly copiedUntil: number;
  /** Empty before the first turn. */
  readonly rows: readonly HistoryRow[];
}

/** The name and version of the text format. */
const FORMAT = "perdure.history/1";

/** The history of an instance's newest execution, or of the given execution. */
export async function recordHistory(
  provider: Provider,
  id: string,
  options: { readonly execution?: number } = {},
): Promise<RecordedHistory> {
  const record = await provider.readInstance(id);
  if (record === null) throw missing(`There is no instance "${id}".`);
  return recordOf(provider, record, options.execution ?? record.execution);
}

export async function recordOf(
  provider: Provider,
  record: Omit<InstanceRecord, "output">,
  execution = record.execution,
): Promise<RecordedHistory> {
  const rows = await provider.readHistory({ key: record.key, execution });
  const isNewest = execution === record.execution;
  if (rows.length === 0 && !isNewest) {
    throw missing(`Instance "${record.id}" has no execution ${execution}.`);
  }
  const { name, version } = startOf(rows) ?? record;
  return {
    id: record.id,
    name,
    version: version ?? record.version,
    execution,
    priority: record.priority,
    copiedUntil: isNewest ? record.copiedUntil : 0,
    rows,
  };
}

/** One line of text, without a newline, for `perdure check` and `parseRecorded`. */
export function formatRecorded(recorded: RecordedHistory): string {
  return JSON.stringify({ format: FORMAT, ...recorded });
}

/** Parses a text that `formatRecorded` or `perdure history --export` wrote. */
export function parseRecorded(text: string): RecordedHistory {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw unreadable("it is not JSON", cause);
  }
  if (!isObject(parsed) || parsed["format"] !== FORMAT) {
    throw unreadable(`its format must be "${FORMAT}"`);
  }
  const { id, name, version, execution, priority, copiedUntil, rows } = parsed;
  if (typeof id !== "string" || typeof name !== "string") {
    throw unreadable("id and name must be strings");
  }
  if (version !== null && typeof version !== "string") {
    throw unreadable("version must be a string or null");
  }
  if (!isCount(execution) || !isCount(priority) || !isCount(copiedUntil)) {
    throw unreadable("execution, priority and copiedUntil must be integers of at least 0");
  }
  if (!Array.isArray(rows) || !rows.every(isRow)) {
    throw unreadable("rows must be a list of { first, last, data }");
  }
  return { id, name, version, execution, priority, copiedUntil, rows };
}

/**
 * Name and version in the first event; null if it cannot be decoded. The replay then reports the reason.
 */
function startOf(rows: readonly HistoryRow[]): { name: string; version: string | null } | null {
  const row = rows[0];
  if (row === undefined) return null;
  let first: HistoryEvent | undefined;
  try {
    first = decodeRow(row)[0];
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return null;
    throw error;
  }
  if (first?.kind !== "OrchestrationStarted") return null;
  return { name: first.name, version: first.orchestrationVersion || null };
}

function isRow(value: unknown): value is HistoryRow {
  if (!isObject(value)) return false;
  return isCount(value["first"]) && isCount(value["last"]) && typeof value["data"] === "string";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function missing(message: string): PerdureError {
  return new PerdureError("INSTANCE_NOT_FOUND", message);
}

function unreadable(why: string, cause?: unknown): PerdureError {
  const message = `This is not a recorded history: ${why}.`;
  return new PerdureError("INVALID_ARGUMENT", message, cause === undefined ? undefined : { cause });
}
