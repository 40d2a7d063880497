// Single events on the timeline: the start, received events, status changes, the end. Close marks are merged.

import { useMemo, type ReactElement } from "react";
import type { Mark } from "../../api/types.ts";
import { kindWords } from "../history/event-words.ts";
import { percent, type View } from "./view.ts";

/** The smallest distance between two marks, in percent of the lane. */
const APART = 0.6;

export function MarkLane({
  marks,
  view,
}: {
  readonly marks: readonly Mark[];
  readonly view: View;
}): ReactElement {
  const shown = useMemo(() => groupsOf(marks, view), [marks, view]);
  return (
    <div className="gantt-marks">
      <span className="gantt-name faint">Events</span>
      <div className="gantt-track">
        {shown.map(({ left, kind, title }) => (
          <span
            key={left}
            className="mark"
            data-kind={kind}
            title={title}
            style={{ left: `${left}%` }}
          />
        ))}
      </div>
    </div>
  );
}

interface Group {
  readonly left: number;
  readonly kind: string;
  readonly title: string;
}

/** `marks`: ordered by time. */
function groupsOf(marks: readonly Mark[], view: View): readonly Group[] {
  const groups: { left: number; kind: string; titles: string[]; count: number }[] = [];
  for (const { at, kind, name } of marks) {
    const left = percent(Date.parse(at), view);
    if (left < 0 || left > 100) continue;
    const title = `${kindWords(kind)}${name === undefined ? "" : ` ${name}`}`;
    const last = groups.at(-1);
    if (last === undefined || left - last.left >= APART) {
      groups.push({ left, kind, titles: [title], count: 1 });
    } else {
      last.count += 1;
      if (last.titles.length < 8) last.titles.push(title);
      if (kind === "Repair" || (kind.startsWith("Orchestration") && last.kind !== "Repair")) {
        last.kind = kind;
      }
    }
  }
  return groups.map(({ left, kind, titles, count }) => ({
    left,
    kind,
    title: titles.join("\n") + (count > titles.length ? `\nand ${count - titles.length} more` : ""),
  }));
}
