// Seals: bind a row of history to its instance and position, if the codec has a key (docs/decisions/0028).
//   - A sealed row ends in `,"s":"<seal>"}`. The seal covers instance id, run id, execution, first and last
//        event, and the text of the row without the seal. Stores treat a sealed row like any other.
//   - If a sealing codec wrote the input of a history, every row must have a seal. In any other history every
//        row after the first sealed row must have one. So removing a seal is detected, and histories from
//        before seals continue.
//   - seal.1: The last row may lack a seal if it only says that the instance was cancelled or terminated
//        without running its code. The store writes that row, and the store has no key. A worker never
//        replays it.

import type { RowSeal } from "../values/codec.ts";
import { isPerdureError } from "../errors/errors.ts";
import type { HistoryEvent, OrchestrationStarted } from "./events.ts";
import { corrupt, decodeRow, type HistoryRow } from "./rows.ts";

/** The execution that rows belong to. */
export interface RowOrigin {
  readonly id: string;
  readonly execution: number;
  /** Absent for an earlier execution: its first event contains the run id. */
  readonly runId?: string;
}

export interface VerifyOptions {
  /** The rows to verify. Default: all. */
  readonly within?: readonly HistoryRow[];
  /** Whether the store may have ended the instance without running its code (seal.1). */
  readonly mayEnd?: boolean;
  /** Whether to skip rows whose key is missing. */
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

/** Throws HISTORY_CORRUPT if a row was written for another position, or lacks its seal. */
export function verifyRows(
  rows: readonly HistoryRow[],
  origin: RowOrigin,
  seal: RowSeal | undefined,
  { within = rows, mayEnd = false, skipMissingKeys = false }: VerifyOptions = {},
): void {
  const [first] = rows;
  if (seal === undefined || first === undefined) return;
  const started = startOf(first);
  const position = { runId: started.runId, ...origin };
  const verified = new Set(within);
  let isRequired = seal.demands(started.input);
  for (const row of rows) {
    const match = row.data.endsWith('"}') ? SEAL.exec(row.data) : null;
    if (match === null) {
      if (!isRequired || (mayEnd && row === rows.at(-1) && isEndFromOutside(row))) continue;
      throw corrupt(row, "it has no seal");
    }
    isRequired = true;
    if (!verified.has(row) || row.damaged === true) continue; // decoding the row reports the damage
    const text = `${row.data.slice(0, match.index)}}`;
    const isRight = verify(seal, coveredOf(row, text, position), match[1] ?? "", skipMissingKeys);
    if (!isRight) throw corrupt(row, "its seal does not match: the row was changed or moved");
  }
}

/**
 * Whether `verifyRows` can verify these rows without the other rows of the execution. The first of them must
 * be the first row of the execution. If its input demands seals and every row has one, no other row matters.
 */
export function isPartVerifiable(rows: readonly HistoryRow[], seal: RowSeal): boolean {
  const [first] = rows;
  if (first === undefined) return true;
  return seal.demands(startOf(first).input) && rows.every(({ data }) => SEAL.test(data));
}

function verify(seal: RowSeal, text: string, found: string, skipMissingKeys: boolean): boolean {
  try {
    return seal.verify(text, found);
  } catch (error) {
    if (skipMissingKeys && isPerdureError(error, "KEY_MISSING")) return true;
    throw error;
  }
}

/**
 * The sealed text. The position is one line of JSON, so the text of a row cannot be mistaken for a part of
 * it.
 */
function coveredOf(row: HistoryRow, text: string, { id, runId, execution }: Required<RowOrigin>) {
  return `${JSON.stringify(["history", id, runId, execution, row.first, row.last])}\n${text}`;
}

function startOf(row: HistoryRow): OrchestrationStarted {
  const [event] = decodeRow(row);
  if (event?.kind === "OrchestrationStarted" && event.sequence === 1) return event;
  throw corrupt(row, "it does not begin with OrchestrationStarted");
}

/** seal.1 */
function isEndFromOutside(row: HistoryRow): boolean {
  const kinds = decodeRow(row).map(({ kind }) => kind);
  if (row.first === 1 && kinds[0] === "OrchestrationStarted") kinds.shift();
  if (kinds[0] === "OrchestrationCancelRequested") kinds.shift();
  return kinds.length === 1 && kinds[0] === ("OrchestrationFailed" satisfies HistoryEvent["kind"]);
}
