// The tab with the timeline of an execution.

import { useMemo, useState, type ReactElement } from "react";
import type { Instance } from "../../api/types.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { useNow } from "../../parts/use-now.ts";
import { setQuery, useHashLocation } from "../../router/hash-location.ts";
import { isEnded } from "../actions.ts";
import { Gantt } from "./gantt.tsx";
import { Minimap } from "./minimap.tsx";
import { MomentView } from "./moment-view.tsx";
import { SpanDetail } from "./span-detail.tsx";
import { extentOf } from "./timeline-data.ts";
import { useTimeline } from "./use-timeline.ts";
import type { View } from "./view.ts";
import { ZoomTools } from "./zoom-tools.tsx";

export function TimelineTab({
  instance,
  execution,
}: {
  readonly instance: Instance;
  readonly execution: number;
}): ReactElement {
  const { id, updatedAt } = instance;
  const location = useHashLocation();
  const { data, isLoading, problem } = useTimeline(id, execution, updatedAt);
  const now = useNow();
  const isOver = isEnded(instance) || execution !== instance.execution;
  const whole = useMemo(() => extentOf(data, now), [data, isOver ? 0 : now]);
  const [chosen, setChosen] = useState<View | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const waiting = useMemo(
    () => new Map(instance.waitingFor.map((wait) => [wait.sequence, wait])),
    [instance],
  );
  const selected = Number(location.query.get("span") ?? NaN);
  const select = (sequence: number): void =>
    setQuery({ span: sequence === selected ? null : String(sequence) });

  if (problem !== undefined && data.events === 0) return <ProblemNote problem={problem} />;
  if (whole === null) {
    return isLoading ? (
      <Loading rows={5} />
    ) : (
      <div className="panel">
        <Empty icon="clock" title="Nothing has happened yet">
          The first turn has not run yet.
        </Empty>
      </div>
    );
  }
  const view = chosen ?? whole;
  const span = data.spans.find(({ sequence }) => sequence === selected);
  return (
    <div className="stack">
      <div className="panel timeline">
        <ZoomTools
          view={view}
          whole={whole}
          isWhole={chosen === null}
          isLoading={isLoading}
          data={data}
          onView={setChosen}
        />
        <Minimap data={data} whole={whole} view={view} onView={setChosen} />
        <Gantt
          data={data}
          whole={whole}
          view={view}
          waiting={waiting}
          cursor={cursor}
          selected={selected}
          onView={setChosen}
          onCursor={setCursor}
          onSelect={select}
        />
        <MomentView
          id={id}
          execution={execution}
          data={data}
          whole={whole}
          view={view}
          cursor={cursor}
          onCursor={setCursor}
          onSelect={select}
        />
      </div>
      {span === undefined ? null : (
        <SpanDetail
          key={`${span.sequence} ${span.endedBy ?? ""}`}
          id={id}
          execution={execution}
          span={span}
          waiting={waiting.get(span.sequence)}
          onClose={() => select(span.sequence)}
        />
      )}
    </div>
  );
}
