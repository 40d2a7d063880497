// Seals: what binds a row of history to its place, where the codec has a key (docs/decisions/0028).
//   HS1. A sealed row ends in `,"s":"<seal>"}`. The seal covers instance id, run id, execution, first and last event,
//        and the row's text without the seal. Stores keep a sealed row like any other.
//   HS2. A history that begins with a value of a codec that seals must be sealed from its first row on; any other one
//        from its first sealed row on. So no seal can be removed, and a history that is older than seals goes on.
//   HS3. One row may lack a seal: the last one, if all that it says is that the instance was ended from outside. The
//        store writes that row, and the store has no key. A worker never replays it.

import type { RowSeal } from "./codec.ts";
import { isPerdureError, PerdureError } from "./errors.ts";
import type { HistoryEvent, OrchestrationStarted } from "./history-events.ts";
import { decodeRow, type HistoryRow } from "./history-row.ts";

/** Where rows belong. */
export interface RowOrigin {
  readonly id: string;
  readonly execution: number;
  /** Absent: an earlier execution, whose first event says it. */
  readonly runId?: string;
}

export interface VerifyOptions {
  /** The rows to verify. Default: all. */
  readonly within?: readonly HistoryRow[];
  /** The instance may have been ended from outside (HS3). */
  readonly mayEnd?: boolean;
  /** Rows sealed with a key that is missing are not verified. */
  readonly skipMissingKeys?: boolean;
}

const SEAL = /,"s":"([A-Za-z0-9._-]+)"\}$/;

export function sealRow(
  row: HistoryRow,
  origin: Required<RowOrigin>,
  seal: RowSeal | undefined,
): HistoryRow {
  if (seal === undefined) return row;
  const text = seal.seal(coveredOf(row, row.data, origin));
  return { ...row, data: `${row.data.slice(0, -1)},"s":"${text}"}` };
}

/** Throws HISTORY_CORRUPT if a row was written for another place, or lacks its seal. */
export function verifyRows(
  rows: readonly HistoryRow[],
  origin: RowOrigin,
  seal: RowSeal | undefined,
  { within = rows, mayEnd = false, skipMissingKeys = false }: VerifyOptions = {},
): void {
  const [first] = rows;
  if (seal === undefined || first === undefined) return;
  const started = startOf(first);
  const place = { runId: started.runId, ...origin };
  const verified = new Set(within);
  let isRequired = seal.demands(started.input);
  for (const row of rows) {
    const match = row.data.endsWith('"}') ? SEAL.exec(row.data) : null;
    if (match === null) {
      if (!isRequired || (mayEnd && row === rows.at(-1) && isEndFromOutside(row))) continue;
      throw corrupt(row, "it has no seal");
    }
    isRequired = true;
    if (!verified.has(row) || row.damaged === true) continue; // damage is reported where the row is decoded
    const text = `${row.data.slice(0, match.index)}}`;
    const isRight = verify(seal, coveredOf(row, text, place), match[1] ?? "", skipMissingKeys);
    if (!isRight) throw corrupt(row, "its seal does not match: it was changed or moved");
  }
}

function verify(seal: RowSeal, text: string, found: string, skipMissingKeys: boolean): boolean {
  try {
    return seal.verify(text, found);
  } catch (error) {
    if (skipMissingKeys && isPerdureError(error, "KEY_MISSING")) return true;
    throw error;
  }
}

/** The place is one line of JSON, so no row's text can be taken for a part of it. */
function coveredOf(row: HistoryRow, text: string, { id, runId, execution }: Required<RowOrigin>) {
  return `${JSON.stringify(["history", id, runId, execution, row.first, row.last])}\n${text}`;
}

function startOf(row: HistoryRow): OrchestrationStarted {
  const [event] = decodeRow(row);
  if (event?.kind === "OrchestrationStarted" && event.sequence === 1) return event;
  throw corrupt(row, "it does not begin with OrchestrationStarted");
}

/** HS3 */
function isEndFromOutside(row: HistoryRow): boolean {
  const kinds = decodeRow(row).map(({ kind }) => kind);
  if (row.first === 1 && kinds[0] === "OrchestrationStarted") kinds.shift();
  if (kinds[0] === "OrchestrationCancelRequested") kinds.shift();
  return kinds.length === 1 && kinds[0] === ("OrchestrationFailed" satisfies HistoryEvent["kind"]);
}

function corrupt(row: HistoryRow, why: string): PerdureError {
  const message = `History row ${row.first}–${row.last} cannot be read: ${why}.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
