// Prints a timeline: one bar per span, from its request to its outcome.
//   - The bar of an open span reaches the right edge. Bars are scaled to the terminal; each has at least
//        one column.

import type { Timeline } from "../../server/views/timeline.ts";
import { cutToWidth, displayWidth } from "./clean-text.ts";
import { cyan, dim, green, plainText, red, yellow, type Piece, type Screen } from "./screen.ts";
import { withoutFlow } from "./flow-names.ts";
import { showSpan } from "./times.ts";

type Span = Timeline["spans"][number];

const BAR_WIDTH_MAX = 60;
const LABEL_MAX = 36;
/** A longer timeline shows only its first and last spans. */
const SPANS_MAX = 200;

const LOOKS = {
  completed: { sign: green("✓"), bar: (text: string) => green(text), fill: "█" },
  failed: { sign: red("✗"), bar: (text: string) => red(text), fill: "█" },
  cancelled: { sign: yellow("⊘"), bar: (text: string) => yellow(text), fill: "▒" },
  open: { sign: cyan("…"), bar: (text: string) => cyan(text), fill: "▒" },
} as const;

export function printTimeline(
  screen: Screen,
  { spans }: Timeline,
  range: { readonly from: number; readonly to: number },
): void {
  const shown = shorten(spans);
  const labels = shown.map((span) => (span === null ? "" : labelOf(span)));
  const width = Math.min(Math.max(...labels.map(displayWidth)), LABEL_MAX);
  const digits = String(spans.at(-1)?.sequence ?? 0).length + 1;
  const taken = digits + width + 18;
  const barWidth = Math.max(Math.min(screen.columns - taken, BAR_WIDTH_MAX), 10);
  const scale = { ...range, barWidth };
  for (const [index, span] of shown.entries()) {
    if (span === null) screen.line(dim(`  … ${spans.length - shown.length + 1} more …`));
    else {
      const label = cutToWidth(labels[index] ?? "", width);
      const space = " ".repeat(width - displayWidth(label));
      const number = dim(`#${span.sequence}`.padStart(digits));
      screen.line(
        number,
        " ",
        LOOKS[span.outcome].sign,
        " ",
        label,
        space,
        " ",
        ...bar(span, scale),
      );
    }
  }
}

/** A timer has no name; in a flow its label is the node. */
function labelOf({ kind, name, node = "", attempts = 1, replaced }: Span): string {
  const tries = replaced === true ? " (replaced)" : attempts > 1 ? ` ×${attempts}` : "";
  const which = name === undefined ? node : withoutFlow(name);
  return plainText(`${kind} ${which}${tries}`.trim());
}

function bar(
  span: Span,
  { from, to, barWidth }: { readonly from: number; readonly to: number; readonly barWidth: number },
): Piece[] {
  const { bar: paint, fill } = LOOKS[span.outcome];
  const begin = Date.parse(span.from);
  const end = span.to === undefined ? to : Date.parse(span.to);
  const whole = Math.max(to - from, 1);
  const column = (at: number): number => Math.round(((at - from) / whole) * barWidth);
  const first = Math.min(Math.max(column(begin), 0), barWidth - 1);
  const length = Math.max(Math.min(column(end), barWidth) - first, 1);
  const after = " ".repeat(Math.max(barWidth - first - length, 0));
  const message = span.message === undefined ? "" : dim(` ${span.message}`);
  return [
    " ".repeat(first),
    paint(fill.repeat(length)),
    after,
    ` ${showSpan(end - begin)}`,
    message,
  ];
}

/** Null stands for the omitted spans. */
function shorten(spans: readonly Span[]): readonly (Span | null)[] {
  if (spans.length <= SPANS_MAX) return spans;
  return [...spans.slice(0, SPANS_MAX / 2), null, ...spans.slice(-SPANS_MAX / 2)];
}
