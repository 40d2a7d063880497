// Reads parts of the history of one execution, and verifies that they are complete and belong there.
//   - history-reader.1: A part is verified by its own rows. A gap, or a missing end, inside the part is
//        HISTORY_CORRUPT. Damage elsewhere in the history stays unnoticed until that part is read.
//   - history-reader.2: With seals, a part also needs the first row: it contains the run id and says whether
//        every row must have a seal. If it does not say so, or a row of the part has no seal, only the whole
//        history can be verified (core/history/seal.ts). Then the whole history is read.

import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeRow, type HistoryRow } from "../../core/history/rows.ts";
import { isPartVerifiable, type VerifyOptions } from "../../core/history/seal.ts";
import type { InstanceRecord } from "../../core/provider/index.ts";
import type { Store } from "../store.ts";

export interface HistoryPart {
  readonly after: number;
  readonly limit: number;
}

export class HistoryReader {
  readonly #store: Store;
  readonly #record: InstanceRecord;
  readonly #execution: number;
  readonly #until: number;

  /** `until`: deadline for retries if the store is unavailable. */
  constructor(
    store: Store,
    record: InstanceRecord,
    execution = record.execution,
    until = Infinity,
  ) {
    this.#store = store;
    this.#record = record;
    this.#execution = execution;
    this.#until = until;
  }

  /** The last event of the execution, as far as the record says; 0 for an earlier execution. */
  get lastEvent(): number {
    return this.#execution === this.#record.execution ? this.#record.lastEvent : 0;
  }

  /** The rows of a part, not verified. Null: rows are missing, or out of order. */
  async rows(part: HistoryPart): Promise<readonly HistoryRow[] | null> {
    const rows = await this.#read(part);
    return covers(rows, part, this.lastEvent) ? rows : null;
  }

  /**
   * Throws HISTORY_CORRUPT if a row belongs to another instance or position. `rows`: in order, but not
   * necessarily contiguous. False: other rows that are needed for the check are missing.
   */
  async verify(
    rows: readonly HistoryRow[],
    options: Pick<VerifyOptions, "skipMissingKeys"> = {},
  ): Promise<boolean> {
    const { rowSeal } = this.#store.codec;
    if (rowSeal === undefined || rows.length === 0) return true;
    const hasStart = rows[0]?.first === 1;
    const [start] = hasStart ? rows : await this.#read({ after: 0, limit: 1 });
    if (start?.first !== 1) return false;
    const part = hasStart ? rows : [start, ...rows];
    const checked = isPartVerifiable(part, rowSeal) ? part : await this.rows(WHOLE); // history-reader.2
    if (checked === null) return false;
    const numbers = new Set(rows.map(({ first }) => first));
    const within = checked.filter(({ first }) => numbers.has(first));
    this.#store.verifyRows(this.#record, this.#execution, checked, { ...options, within });
    return true;
  }

  /**
   * Whether the history of the record no longer exists: the instance was deleted, or it continued as new and
   * the execution may have been pruned.
   */
  async isGone(): Promise<boolean> {
    const { id, key } = this.#record;
    const now = await this.#store.read((provider) => provider.readInstance(id), this.#until);
    return now?.key !== key || now.execution !== this.#record.execution;
  }

  #read({ after, limit }: HistoryPart): Promise<readonly HistoryRow[]> {
    const request = { key: this.#record.key, execution: this.#execution, after, limit };
    return this.#store.read((provider) => provider.readHistory(request), this.#until);
  }
}

export const WHOLE: HistoryPart = { after: 0, limit: Infinity };

/** The events of these rows that belong to the part. */
export function eventsOf(
  rows: readonly HistoryRow[],
  { after, limit }: HistoryPart,
): readonly HistoryEvent[] {
  return rows
    .flatMap(decodeRow)
    .filter(({ sequence }) => sequence > after && sequence <= after + limit);
}

/** Whether the rows are contiguous and contain the events of the part up to `lastEvent` (history-reader.1). */
export function covers(
  rows: readonly HistoryRow[],
  { after, limit }: HistoryPart,
  lastEvent: number,
): boolean {
  const needed = Math.min(after + limit, lastEvent);
  const [start] = rows;
  if (start === undefined) return needed <= after;
  if (start.first > after + 1) return false;
  let next = start.first;
  for (const { first, last } of rows) {
    if (first !== next || last < first) return false;
    next = last + 1;
  }
  return next > needed;
}
