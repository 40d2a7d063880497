// The newest entries of a stream that the page holds.
//   - Their number and their size are bounded. When there are too many, the oldest are dropped.
//   - A reset marks the earlier items of its call as void; they stay visible.

import type { StreamEntry, StreamReset } from "../../api/types.ts";

export type TailRow =
  | (StreamEntry & {
      readonly kind: "item";
      /** A reset followed: another run of the call wrote again. */
      readonly isVoid: boolean;
    })
  | (StreamEntry & { readonly kind: "reset" });

export interface Tail {
  /** Oldest first. */
  readonly rows: readonly TailRow[];
  readonly chars: number;
  /** How many rows were dropped. */
  readonly dropped: number;
  /** Whether the next entry drops one. */
  readonly isFull: boolean;
  /** The stream is closed, or its instance has ended. */
  readonly isOver: boolean;
}

export const ROWS_MAX = 5_000;
const CHARS_MAX = 16_000_000;
export const NO_TAIL: Tail = { rows: [], chars: 0, dropped: 0, isFull: false, isOver: false };

/**
 * `keepsOldest`: a full tail takes no further entries, instead of dropping its oldest. They can be read again later.
 */
export function withEntries(
  tail: Tail,
  entries: readonly StreamEntry[],
  { keepsOldest = false, rowsMax = ROWS_MAX, charsMax = CHARS_MAX } = {},
): Tail {
  const rows = [...tail.rows];
  let { chars, dropped, isOver } = tail;
  const isFull = (): boolean => rows.length >= rowsMax || chars >= charsMax;
  for (const entry of entries) {
    if (keepsOldest && isFull()) break;
    if (entry.kind === "end") {
      isOver = true;
    } else if (entry.kind === "reset") {
      voidItems(rows, entry);
      rows.push(entry);
    } else {
      rows.push({ ...entry, isVoid: false });
      chars += entry.chars;
    }
  }
  let first = 0;
  while (!keepsOldest && first < rows.length - 1) {
    if (rows.length - first <= rowsMax && chars <= charsMax) break;
    chars -= charsOf(rows[first]);
    first++;
  }
  rows.splice(0, first);
  dropped += first;
  return { rows, chars, dropped, isFull: isFull(), isOver };
}

/** The offset after the last row. Undefined: there is no row. */
export function nextOffset({ rows }: Tail): number | undefined {
  const last = rows.at(-1);
  return last === undefined ? undefined : last.offset + 1;
}

function voidItems(rows: TailRow[], { call, from }: StreamReset): void {
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows[i];
    if (row === undefined || row.offset < from) return;
    if (row.kind === "item" && row.call === call && !row.isVoid) rows[i] = { ...row, isVoid: true };
  }
}

function charsOf(row: TailRow | undefined): number {
  return row?.kind === "item" ? row.chars : 0;
}
