// Charts of recent activity.

import { useMemo, type ReactElement } from "react";
import type { Sample } from "../api/types.ts";
import { Chart } from "../parts/chart.tsx";
import { formatCount, formatDuration, formatRate } from "../parts/format.ts";

export function History({
  samples,
  sampleMs,
}: {
  readonly samples: readonly Sample[];
  readonly sampleMs: number;
}): ReactElement {
  const times = useMemo(() => samples.map(({ at }) => Date.parse(at)), [samples]);
  const charts = useMemo(() => chartsOf(samples), [samples]);
  if (sampleMs === 0) {
    return <p className="note">Sampling is off on this server, so there are no charts.</p>;
  }
  return (
    <section className="charts" aria-label="Recent activity">
      {charts.map(({ title, series, format }) => (
        <Chart key={title} title={title} times={times} series={series} format={format} />
      ))}
    </section>
  );
}

function chartsOf(samples: readonly Sample[]) {
  const values = (pick: (sample: Sample) => number | undefined): (number | null)[] =>
    samples.map((sample) => pick(sample) ?? null);
  return [
    {
      title: "Throughput",
      format: formatRate,
      series: [
        { label: "completed", color: "completed-fill", values: values((s) => s.completedRate) },
        { label: "started", color: "running-fill", values: values((s) => s.startedRate) },
        {
          label: "failed, cancelled, terminated",
          color: "failed-fill",
          values: values((s) => s.endedOtherwiseRate),
        },
      ],
    },
    {
      title: "Latency, from start to end",
      format: formatDuration,
      series: [
        { label: "p95", color: "child-fill", values: values((s) => s.latency?.p95Ms) },
        { label: "p50", color: "step-fill", values: values((s) => s.latency?.p50Ms) },
      ],
    },
    {
      title: "Work in the queue",
      format: formatCount,
      series: [
        { label: "waiting tasks", color: "paused-fill", values: values((s) => s.waitingTasks) },
        { label: "running tasks", color: "running-fill", values: values((s) => s.runningTasks) },
        { label: "due messages", color: "child-fill", values: values((s) => s.dueMessages) },
      ],
    },
    {
      title: "Oldest waiting task",
      format: formatDuration,
      series: [{ label: "age", color: "event-fill", values: values((s) => s.oldestTaskMs) }],
    },
  ];
}
