// The demo's output: lines with the time, a bar, a table. Colours only on a terminal that supports them.

import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

const BAR_WIDTH = 24;
const LABEL_WIDTH = "takeover".length;
const useColours = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;

export function paint(style: Style, text: string): string {
  return useColours ? styleText(style, text, { validateStream: false }) : text;
}

export class Screen {
  readonly #began = performance.now();

  /** Prints a line about an event, with the elapsed time. */
  log(text: string): void {
    const seconds = (performance.now() - this.#began) / 1_000;
    this.plain(`${paint("dim", `${seconds.toFixed(1).padStart(6)} s`)}  ${text}`);
  }

  plain(text = ""): void {
    process.stdout.write(`${text}\n`);
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1_000;
  }
}

/** The kind of event, padded to a column. */
export function label(style: Style, word: string): string {
  return `${paint(style, word.padEnd(LABEL_WIDTH))}  `;
}

export function bar(done: number, all: number): string {
  const full = Math.round((done / Math.max(all, 1)) * BAR_WIDTH);
  return paint("green", "█".repeat(full)) + paint("dim", "░".repeat(BAR_WIDTH - full));
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string | number;
  /** A line under the column; empty if absent. */
  readonly foot?: string | number;
}

/** Numbers are aligned to the right, words to the left. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const feet = columns.map(({ foot }) => foot ?? "");
  const widths = columns.map(({ title }, place) =>
    Math.max(
      ...[title, ...cells.map((row) => row[place]), feet[place]].map((cell) => String(cell).length),
    ),
  );
  const isNumber = columns.map((_, place) => cells.every((row) => typeof row[place] === "number"));
  const line = (values: readonly (string | number)[]): string =>
    values
      .map((value, place) => {
        const width = widths[place] ?? 0;
        return isNumber[place] === true
          ? String(value).padStart(width)
          : String(value).padEnd(width);
      })
      .join("  ");
  const rule = widths.map((width) => "─".repeat(width)).join("──");
  return [
    paint("bold", line(columns.map(({ title }) => title))),
    paint("dim", rule),
    ...cells.map(line),
    paint("dim", rule),
    paint("bold", line(feet)),
  ]
    .map((text) => `  ${text}`)
    .join("\n");
}
