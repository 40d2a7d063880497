// A recorded history: all that a replay needs of one execution, read from a store or from a text.
//   RH1. Rows are kept as they were written, so that a replay of the text is the replay of the store (I15).
//   RH2. Reading a text is strict: what is no recorded history is INVALID_ARGUMENT, with the reason.

import { isPerdureError, PerdureError } from "../core/errors.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { decodeRow, type HistoryRow } from "../core/history-row.ts";
import type { InstanceRecord } from "../core/provider/instances.ts";
import type { Provider } from "../core/provider/provider.ts";

/** All that a replay needs of one execution. */
export interface RecordedHistory {
  readonly id: string;
  readonly name: string;
  /** Null: its first turn is to come, and its start named none. */
  readonly version: string | null;
  readonly execution: number;
  readonly priority: number;
  /** Events up to this one were copied by a fork and are compared loosely; 0: none. */
  readonly copiedUntil: number;
  /** Empty before the first turn. */
  readonly rows: readonly HistoryRow[];
}

/** Names the format of the texts, and its version. */
const FORMAT = "perdure.history/1";

/** The history of an instance's newest execution, or of the one that is named. */
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

/** One line of text, without its end, for `perdure check` and `parseRecorded`. */
export function formatRecorded(recorded: RecordedHistory): string {
  return JSON.stringify({ format: FORMAT, ...recorded });
}

/** Reads what `formatRecorded`, or a line of `perdure history --export`, wrote. */
export function parseRecorded(text: string): RecordedHistory {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw unreadable("it is not JSON", cause);
  }
  if (!isObject(parsed) || parsed["format"] !== FORMAT) {
    throw unreadable(`it does not say that it is ${FORMAT}`);
  }
  const { id, name, version, execution, priority, copiedUntil, rows } = parsed;
  if (typeof id !== "string" || typeof name !== "string") throw unreadable("id and name are texts");
  if (version !== null && typeof version !== "string") throw unreadable("version is a text");
  if (!isCount(execution) || !isCount(priority) || !isCount(copiedUntil)) {
    throw unreadable("execution, priority and copiedUntil are whole numbers");
  }
  if (!Array.isArray(rows) || !rows.every(isRow)) throw unreadable("its rows are none");
  return { id, name, version, execution, priority, copiedUntil, rows };
}

/** What the first event says; null where it cannot be read: the replay will say why. */
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
  const message = `This is no recorded history: ${why}.`;
  return new PerdureError("INVALID_ARGUMENT", message, cause === undefined ? undefined : { cause });
}
