// Tables: columns as wide as their cells, numbers to the right, cut to the terminal.
//   TB1. On a terminal a row is one line: the widest of the columns that may be cut give way. Elsewhere nothing is cut.

import { cutToWidth, displayWidth } from "./clean-text.ts";
import { dim, plainText, Styled, type Piece, type Screen } from "./screen.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Piece;
  /** Whether its cells may be cut on a narrow terminal. Default true. */
  readonly cut?: boolean;
}

const GAP = 2;
/** No column is cut to less. */
const NARROWEST = 8;

export function printTable<Row>(
  screen: Screen,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void {
  const titles = columns.map(({ title }) => dim(title.toUpperCase()));
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const isNumber = columns.map(
    (_, place) => cells.length > 0 && cells.every((row) => typeof row[place] === "number"),
  );
  const widths = fit(
    columns.map((_, place) => widest([titles, ...cells], place)),
    columns.map(({ cut = true }) => cut),
    screen.columns,
  );
  for (const row of [titles, ...cells]) {
    const line = row.flatMap((piece, place): Piece[] => {
      const shown = shorten(piece, widths[place] ?? 0);
      const space = " ".repeat(Math.max((widths[place] ?? 0) - displayWidth(plainText(shown)), 0));
      const gap = place === 0 ? "" : " ".repeat(GAP);
      const isLast = place === row.length - 1;
      if (isNumber[place] === true) return [gap, space, shown];
      return isLast ? [gap, shown] : [gap, shown, space];
    });
    screen.line(...line);
  }
}

function widest(rows: readonly (readonly Piece[])[], place: number): number {
  return rows.reduce((most, row) => Math.max(most, displayWidth(plainText(row[place] ?? ""))), 0);
}

function fit(wanted: readonly number[], mayCut: readonly boolean[], columns: number): number[] {
  const widths = [...wanted];
  const room = columns - GAP * (widths.length - 1);
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const place = widths.reduce((best, width, at) => {
      const isCandidate = mayCut[at] === true && width > NARROWEST;
      return isCandidate && (best < 0 || width > (widths[best] ?? 0)) ? at : best;
    }, -1);
    const width = widths[place];
    if (width === undefined) break;
    widths[place] = width - 1;
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
