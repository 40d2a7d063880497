// Draws a chart with uPlot. The colours are read from the style sheet when the chart is created.

import { useEffect, useRef, type ReactElement } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatClock } from "./format.ts";
import { resolvedColor } from "./resolved-color.ts";

export interface Series {
  readonly label: string;
  /** The name of a CSS custom property without its dashes. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

const HEIGHT = 170;

export function ChartCanvas({
  times,
  series,
  format,
  onPoint,
}: {
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly onPoint: (index: number | null) => void;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ times, series, format, onPoint });
  useEffect(() => {
    latest.current = { times, series, format, onPoint };
  });

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const made = new uPlot(
      optionsOf(element, latest.current.series, {
        format: (value) => latest.current.format(value),
        point: (index) => latest.current.onPoint(index),
      }),
      dataOf(latest.current),
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);

  useEffect(() => {
    plot.current?.setData(dataOf({ times, series }));
  }, [times, series]);
  return <div ref={box} className="chart-canvas" />;
}

function dataOf({
  times,
  series,
}: {
  readonly times: readonly number[];
  readonly series: readonly Series[];
}): uPlot.AlignedData {
  return [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])];
}

function optionsOf(
  element: HTMLElement,
  series: readonly Series[],
  calls: { format: (value: number) => string; point: (index: number | null) => void },
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => resolvedColor(element, name);
  const axis = {
    stroke: color("text-3"),
    grid: { stroke: color("line"), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, max <= 0 ? 1 : max * 1.1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 70,
        values: (_, ticks) => ticks.map((tick) => formatClock(tick * 1_000)),
      },
      { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => calls.format(tick)) },
    ],
    series: [
      {},
      ...series.map((each, index) => ({
        label: each.label,
        stroke: color(each.color),
        width: 1.75,
        points: { show: false },
        spanGaps: true,
        ...(index === 0 ? { fill: withAlpha(color(each.color)) } : {}),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => calls.point(cursor.idx ?? null)] },
  };
}

function withAlpha(color: string): string {
  return color.replace(/^rgb\((.*)\)$/, "rgba($1, 0.12)");
}
