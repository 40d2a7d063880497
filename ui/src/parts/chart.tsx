// A chart over time: a canvas, and the latest or selected values as text.

import { lazy, Suspense, useState, type ReactElement } from "react";
import { useIsDark } from "../shell/theme.ts";
import type { Series } from "./chart-canvas.tsx";
import { formatClock } from "./format.ts";

const ChartCanvas = lazy(async () => ({
  default: (await import("./chart-canvas.tsx")).ChartCanvas,
}));

export function Chart({
  title,
  times,
  series,
  format,
}: {
  readonly title: string;
  /** Milliseconds. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}): ReactElement {
  const [pointed, setPointed] = useState<number | null>(null);
  const isDark = useIsDark();
  const time = pointed === null ? undefined : times[pointed];
  const textOf = (values: Series["values"]): string => {
    const value = pointed === null ? values.findLast((each) => each !== null) : values[pointed];
    return value === null || value === undefined ? "–" : format(value);
  };
  const hasNoValue = series.every(({ values }) => values.every((value) => value === null));
  const texts = series.map(({ label, values }) => `${label} ${textOf(values)}`);
  return (
    <figure className="panel chart">
      <figcaption className="chart-head">
        <h2>{title}</h2>
        <span className="faint">{time === undefined ? "" : formatClock(time)}</span>
      </figcaption>
      <ul className="chart-legend">
        {series.map(({ label, color, values }) => (
          <li key={label}>
            <span className="chart-key" style={{ background: `var(--${color})` }} />
            {label} <strong>{textOf(values)}</strong>
          </li>
        ))}
      </ul>
      <div className="chart-box" role="img" aria-label={`${title}: ${texts.join(", ")}`}>
        {times.length < 2 ? (
          <p className="chart-none">Waiting for the first two samples.</p>
        ) : hasNoValue ? (
          <p className="chart-none">No data in this period.</p>
        ) : (
          <Suspense fallback={null}>
            <ChartCanvas
              key={isDark ? "dark" : "light"}
              times={times}
              series={series}
              format={format}
              onPoint={setPointed}
            />
          </Suspense>
        )}
      </div>
    </figure>
  );
}
