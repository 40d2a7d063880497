// The tab with the timeline of an execution.

import { useMemo, useState, type ReactElement } from "react";
import { useSession, whyNot } from "../../api/session.ts";
import type { Instance } from "../../api/types.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { useNow } from "../../parts/use-now.ts";
import { setQuery, useHashLocation } from "../../router/hash-location.ts";
import { canRewind, isEnded } from "../actions.ts";
import { repairMarks } from "../repair/repair-words.ts";
import { RewindDialog } from "../repair/rewind-dialog.tsx";
import { Gantt } from "./gantt.tsx";
import { Minimap } from "./minimap.tsx";
import { MomentView } from "./moment-view.tsx";
import { SpanDetail } from "./span-detail.tsx";
import { extentOf } from "./timeline-data.ts";
import { useTimeline } from "./use-timeline.ts";
import { matchingSpans, spanFilterOf, TimelineFilter } from "./timeline-filter.tsx";
import { moved, type View } from "./view.ts";
import { ZoomTools } from "./zoom-tools.tsx";

export function TimelineTab({
  instance,
  execution,
  onDone,
}: {
  readonly instance: Instance;
  readonly execution: number;
  /** Called after the instance was repaired. */
  readonly onDone: () => void;
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
  const { text, isOpenOnly } = spanFilterOf(location.query);
  const shown = useMemo(
    () => matchingSpans(data.spans, { text, isOpenOnly }),
    [data, text, isOpenOnly],
  );
  const [jumps, setJumps] = useState(0);
  const [retryFrom, setRetryFrom] = useState<number | null>(null);
  const mayRetry = whyNot(useSession(), "operator") === null;
  const isCurrent = execution === instance.execution;
  const retry = mayRetry && isCurrent && canRewind(instance) ? setRetryFrom : undefined;
  const { repairs } = instance;
  const marks = useMemo(
    () =>
      isCurrent && repairs !== undefined
        ? [...repairMarks(repairs), ...data.marks].sort((a, b) => (a.at < b.at ? -1 : 1))
        : data.marks,
    [data, isCurrent, repairs],
  );
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
        <TimelineFilter
          isLive={!isOver}
          onNow={() => {
            if (chosen !== null) setChosen(moved(chosen, whole, Infinity));
            setJumps(jumps + 1);
          }}
        />
        <Minimap data={data} whole={whole} view={view} onView={setChosen} />
        <Gantt
          spans={shown}
          marks={marks}
          jumps={jumps}
          whole={whole}
          view={view}
          waiting={waiting}
          cursor={cursor}
          selected={selected}
          onView={setChosen}
          onCursor={setCursor}
          onSelect={select}
          onRetry={retry}
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
          repairs={instance.repairs ?? []}
          onRetry={retry}
          onClose={() => select(span.sequence)}
        />
      )}
      {retryFrom === null ? null : (
        <RewindDialog
          instance={instance}
          before={retryFrom}
          onDone={onDone}
          onClose={() => setRetryFrom(null)}
        />
      )}
    </div>
  );
}
