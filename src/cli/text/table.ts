// Prints tables: each column is as wide as its widest cell, and numbers are right-aligned.
//   - On a terminal every row fits one line: the widest columns that allow it are cut. Elsewhere nothing
//        is cut.

import { cutToWidth, displayWidth } from "./clean-text.ts";
import { dim, plainText, Styled, type Piece, type Screen } from "./screen.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Piece;
  /** Whether cells of this column may be cut on a narrow terminal. Default true. */
  readonly cut?: boolean;
}

const GAP = 2;
/** The smallest width that a column is cut to. */
const NARROWEST = 8;

export function printTable<Row>(
  screen: Screen,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void {
  const titles = columns.map(({ title }) => dim(title.toUpperCase()));
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const isNumber = columns.map(
    (_, index) => cells.length > 0 && cells.every((row) => typeof row[index] === "number"),
  );
  const widths = fit(
    columns.map((_, index) => widest([titles, ...cells], index)),
    columns.map(({ cut = true }) => cut),
    screen.columns,
  );
  for (const row of [titles, ...cells]) {
    const line = row.flatMap((piece, index): Piece[] => {
      const shown = shorten(piece, widths[index] ?? 0);
      const space = " ".repeat(Math.max((widths[index] ?? 0) - displayWidth(plainText(shown)), 0));
      const gap = index === 0 ? "" : " ".repeat(GAP);
      const isLast = index === row.length - 1;
      if (isNumber[index] === true) return [gap, space, shown];
      return isLast ? [gap, shown] : [gap, shown, space];
    });
    screen.line(...line);
  }
}

function widest(rows: readonly (readonly Piece[])[], index: number): number {
  return rows.reduce((most, row) => Math.max(most, displayWidth(plainText(row[index] ?? ""))), 0);
}

function fit(wanted: readonly number[], mayCut: readonly boolean[], columns: number): number[] {
  const widths = [...wanted];
  const available = columns - GAP * (widths.length - 1);
  let over = widths.reduce((sum, width) => sum + width, 0) - available;
  while (over > 0) {
    const index = widths.reduce((best, width, at) => {
      const isCandidate = mayCut[at] === true && width > NARROWEST;
      return isCandidate && (best < 0 || width > (widths[best] ?? 0)) ? at : best;
    }, -1);
    const width = widths[index];
    if (width === undefined) break;
    widths[index] = width - 1;
    over--;
  }
  return widths;
}

function shorten(piece: Piece, columns: number): Piece {
  const text = plainText(piece);
  const short = cutToWidth(text, columns);
  if (short === text) return piece;
  return piece instanceof Styled ? new Styled(piece.style, short) : short;
}
